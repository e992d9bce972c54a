"""Errors: one class per outcome a caller branches on, each with one sentence for the person.

``ExpectedError`` and its children end a command with one line and exit status 1; anything else is a bug (status 3).
Callers branch on classes and fields, never on words in a message.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations


class ExpectedError(Exception):
    """Something a person can act on; the message says what happened and what to do."""


class StateError(ExpectedError):
    """The state folder cannot be used as it is."""


class ModelError(ExpectedError):
    """A model call brought no usable answer."""


class ModelUnavailableError(ModelError):
    """The model cannot be had now (not logged in, unreachable, overloaded, over time); the work is not to blame."""

    def __init__(self, message: str, *, retry_now: bool = True) -> None:
        """``retry_now``: a fault that may pass within seconds, as against one that needs a person."""
        super().__init__(message)
        self.retry_now = retry_now


class BadAnswerError(ModelError):
    """The model answered, and the answer does not hold what was asked for; counts against the job."""


class MemoryStoreError(ExpectedError):
    """Learned facts could not be written to log or store; they wait in the outbox."""


class RemoteError(ExpectedError):
    """The memory server gave no usable answer to one operation; ``status`` is its HTTP status, 0 when unreadable."""

    def __init__(self, message: str, status: int = 0) -> None:
        """``status``: as the server answered."""
        super().__init__(message)
        self.status = status


class RemoteUnavailableError(RemoteError):
    """The memory server cannot be had now (unreachable, overloaded, too slow, cut off); nothing is to blame."""


class RemoteDeniedError(RemoteError):
    """The memory server refuses the key (401, 403)."""
