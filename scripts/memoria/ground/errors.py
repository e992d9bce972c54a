"""Errors: one class for each outcome that a caller distinguishes, each with one sentence for the user.

``ExpectedError`` and its children end a command with one line and exit status 1; anything else is a bug (status 3).
Callers branch on classes and fields, never on words in a message.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from datetime import datetime
from operator import add


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the service counted them, and dollars as it priced them (0 for local models)."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        """Return the sum of two calls."""
        return Usage(*map(add, astuple(self), astuple(other)))


class ExpectedError(Exception):
    """A condition that a person can act on; the message says what happened and what to do."""


class HomeRefusedError(ExpectedError):
    """The home cannot be opened: ``what`` is wrong, and the ``remedy``; the message says both."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}: {remedy}")
        self.what = what
        self.remedy = remedy


class ModelError(ExpectedError):
    """A model call gave no usable answer; ``usage`` is what it consumed.

    When a chain of models failed, ``failures`` holds the error of each, with the name of the ``model``.
    """

    model = ""
    usage = Usage()
    failures: tuple[ModelError, ...] = ()


class ModelUnavailableError(ModelError):
    """The model is unavailable now (not logged in, unreachable, overloaded, timed out); the job is not the cause."""

    def __init__(self, message: str, *, retry_now: bool = True) -> None:
        """Set ``retry_now`` for a fault that may pass within seconds; clear it for one that needs a person or time."""
        super().__init__(message)
        self.retry_now = retry_now


class OverBudgetError(ModelUnavailableError):
    """The day's or the call's budget forbids the call until ``until`` (UTC); None when waiting does not help."""

    def __init__(self, message: str, until: datetime | None) -> None:
        super().__init__(message, retry_now=False)
        self.until = until


class BadAnswerError(ModelError):
    """The model's answer does not hold what was asked for; this counts as a failure of the job."""


class MemoryStoreError(ExpectedError):
    """The log or the store of learned facts cannot be used; unwritten facts wait in the outbox."""


class MemoryServerError(ExpectedError):
    """The memory server gave no usable answer to a request."""

    def __init__(self, message: str, status: int = 0) -> None:
        """Keep ``status``, the HTTP status: 0 when no answer came, 502 when it was not a memory server's."""
        super().__init__(message)
        self.status = status


class ClientSettingsError(ExpectedError):
    """A settings file of the client does not have the expected form; nothing was changed."""


class TranscriptMissingError(ExpectedError):
    """A hook named a transcript that does not exist (yet)."""


class WorkingMemoryError(ExpectedError):
    """Working memory refused an operation; the message says what to do."""


class WorkingStoreError(WorkingMemoryError):
    """A store of working memory failed."""


class StoreUnreachableError(WorkingStoreError):
    """The store cannot be reached or accepts no writes now; another store may replace it."""


class PageNotFoundError(ExpectedError):
    """There is no such page below knowledge/ or daily/."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is no page {name[:200]!r} below knowledge/ or daily/; search, and give the path as search shows it"
        )
        self.name = name


class ArchiveError(ExpectedError):
    """A file of archived turns exists but cannot be read."""


class CannotLockError(ExpectedError):
    """The file system does not support locks, without which two workers could write at once."""

    def __init__(self, path: object) -> None:
        super().__init__(f"{path} cannot be locked here; set MEMORIA_STATE to a folder on a local disk")


class SavedMeanwhileError(ExpectedError):
    """A person saved the file ``path`` while it was to be replaced; it stands as they saved it."""

    def __init__(self, path: object) -> None:
        super().__init__(f"{path} was saved by another program in the meantime; it was left as it is")


class FileBusyError(ExpectedError, OSError):
    """Another program saves a file again and again, so that memoria cannot write it now; nothing was overwritten."""

    def __init__(self, path: object) -> None:
        super().__init__(f"{path} keeps being saved by another program; nothing was overwritten, try again later")


class LedgerError(ExpectedError):
    """The ledger cannot be read or written now (disk full, locked, no access); the job is not the cause."""


class LedgerDamagedError(LedgerError):
    """The ledger's file is damaged and must be set aside."""
