"""Errors: one class per outcome a caller branches on, each with one sentence for the person.

``ExpectedError`` and its children end a command with one line and exit status 1; anything else is a bug (status 3).
Callers branch on classes and fields, never on words in a message.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

from memoria.usage import Usage


class ExpectedError(Exception):
    """Something a person can act on; the message says what happened and what to do."""


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


class BadAnswerError(ModelError):
    """The model answered, and the answer does not hold what was asked for; counts against the job."""


class ClientSettingsError(ExpectedError):
    """A settings file of the client is not what it must be; nothing was changed."""


class TranscriptMissingError(ExpectedError):
    """A hook named a transcript that is not there (yet)."""


class CannotLockError(ExpectedError):
    """The file system refuses locks, without which two workers would write at once."""

    def __init__(self, path: object) -> None:
        super().__init__(f"{path} cannot be locked here; set MEMORIA_STATE to a folder on a local disk")


class LedgerError(ExpectedError):
    """The ledger cannot be read or written now (disk full, locked, no access); the work is not to blame."""


class LedgerDamagedError(LedgerError):
    """The ledger's file is damaged: set it aside and begin anew."""
