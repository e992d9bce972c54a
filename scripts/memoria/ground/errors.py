"""Errors: one class per outcome a caller branches on, each with one sentence for the person.

``ExpectedError`` and its children end a command with one line and exit status 1; anything else is a bug (status 3).
Callers branch on classes and fields, never on words in a message.
"""

from __future__ import annotations

from datetime import datetime

from memoria.ground.usage import Usage


class ExpectedError(Exception):
    """Something a person can act on; the message says what happened and what to do."""


class HomeRefusedError(ExpectedError):
    """The home cannot be opened: ``what`` is wrong, and the ``remedy``; the message says both."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}: {remedy}")
        self.what = what
        self.remedy = remedy


class ModelError(ExpectedError):
    """A model call brought no usable answer.

    ``model`` is the name it is booked under and ``usage`` what it took all the same. When a chain of models failed,
    ``failures`` holds the error of each; then book those, their sum is this error's own ``usage``.
    """

    def __init__(
        self, message: str, *, model: str = "", usage: Usage | None = None, failures: tuple[ModelError, ...] = ()
    ) -> None:
        super().__init__(message)
        self.model = model
        self.usage = usage or Usage()
        self.failures = failures


class ModelUnavailableError(ModelError):
    """The model cannot be had now (not logged in, unreachable, overloaded, over time); the work is not to blame."""

    def __init__(
        self,
        message: str,
        *,
        retry_now: bool = True,
        model: str = "",
        usage: Usage | None = None,
        failures: tuple[ModelError, ...] = (),
    ) -> None:
        """``retry_now``: a fault that may pass within seconds, as against one that needs a person."""
        super().__init__(message, model=model, usage=usage, failures=failures)
        self.retry_now = retry_now


class OverBudgetError(ModelUnavailableError):
    """The day's or the call's budget does not allow the call; ``until`` (UTC) is when it will, None: not by waiting."""

    def __init__(self, message: str, until: datetime | None) -> None:
        super().__init__(message, retry_now=False)
        self.until = until


class BadAnswerError(ModelError):
    """The model answered, and the answer does not hold what was asked for; counts against the job."""


class MemoryStoreError(ExpectedError):
    """Log or store of learned facts cannot be used; what was to be written waits in the outbox."""


class MemoryServerError(ExpectedError):
    """The memory server gave no usable answer to one operation; ``status`` is its HTTP status, 0 when unreadable."""

    def __init__(self, message: str, status: int = 0) -> None:
        """``status``: as the server answered."""
        super().__init__(message)
        self.status = status


class MemoryServerUnavailableError(MemoryServerError):
    """The memory server cannot be had now (unreachable, overloaded, too slow, cut off); nothing is to blame."""


class MemoryServerDeniedError(MemoryServerError):
    """The memory server refuses the key (401, 403)."""


class ClientSettingsError(ExpectedError):
    """A settings file of the client is not what it must be; nothing was changed."""


class TranscriptMissingError(ExpectedError):
    """A hook named a transcript that is not there (yet)."""


class WorkingMemoryError(ExpectedError):
    """Working memory refused something; the message says what to do."""


class BadKeyError(WorkingMemoryError):
    """A key that working memory does not take."""


class BadValueError(WorkingMemoryError):
    """A value, time to live or status that working memory does not take."""


class BadScopeError(WorkingMemoryError):
    """A scope without an id, or one inside the wrong kind."""


class CheckpointNotFoundError(WorkingMemoryError):
    """There is no such checkpoint in this scope."""

    def __init__(self, checkpoint_id: str, known: list[str] | None = None) -> None:
        """``known``: the checkpoints there are, for the message."""
        there = "list the checkpoints to see which there are"
        if known is not None:
            there = f"there are {', '.join(known)}" if known else "none was made"
        super().__init__(f"there is no checkpoint {checkpoint_id!r} here; {there}")
        self.checkpoint_id = checkpoint_id


class WorkingStoreError(WorkingMemoryError):
    """A store of working memory failed."""


class StoreBusyError(WorkingStoreError):
    """Other processes kept the store locked for longer than we wait."""


class StoreUnreachableError(WorkingStoreError):
    """The store cannot be reached or takes no writes now; another may stand in."""


class StoreTooNewError(WorkingStoreError):
    """The store was written by a newer memoria."""


class PageNotFoundError(ExpectedError):
    """There is no such page below knowledge/ or daily/."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is no page {name[:200]!r} below knowledge/ or daily/; search, and give the path as search shows it"
        )
        self.name = name


class ArchiveError(ExpectedError):
    """A kept file of turns is there and cannot be read."""


class UnknownEntryError(ExpectedError):
    """No daily log and no archive knows the entry that was asked for."""


class TurnsGoneError(ExpectedError):
    """The entry is known, and its turns are no longer (or were never) in the archive."""


class CannotLockError(ExpectedError):
    """The file system refuses locks, without which two workers would write at once."""

    def __init__(self, path: object) -> None:
        super().__init__(f"{path} cannot be locked here; set MEMORIA_STATE to a folder on a local disk")


class DatabaseTooNewError(ExpectedError):
    """A newer memoria wrote this database."""


class LedgerError(ExpectedError):
    """The ledger cannot be read or written now (disk full, locked, no access); the work is not to blame."""


class LedgerDamagedError(LedgerError):
    """The ledger's file is damaged: set it aside and begin anew."""


class UsageError(ExpectedError):
    """An option's value that cannot be understood."""


class DropRefusedError(ExpectedError):
    """A compile would take too much out of a page; nothing was written."""

    def __init__(self, slug: str, reason: str) -> None:
        super().__init__(f"{slug}: {reason}; nothing was written. Look at the entries, then compile with --force.")
        self.slug = slug


class NothingToUndoError(ExpectedError):
    """There is no such step of the wiki to undo or to show."""
