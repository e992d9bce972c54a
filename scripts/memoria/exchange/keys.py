"""Keys: the key of an encrypted exchange, as twelve words that a person copies and as what seals a segment.

The words are those of BIP 39: 128 random bits and a checksum. The key is kept in the system's keyring where there is
one, or else in a file of its owner's. ``cryptography`` and ``mnemonic`` are imported only for an encrypted exchange.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from memoria.base import atomic, invocation
from memoria.base.paths import Paths
from memoria.ground import files
from memoria.ground.errors import ExpectedError

if TYPE_CHECKING:
    from mnemonic import Mnemonic

WORDS, SECRET_BYTES, NONCE_BYTES = 12, 16, 12
_SERVICE = "memoria sync"  # the name of the entry in the keyring
_ELSEWHERE = "keyring"  # in the file instead of the key: only then is the keyring asked, which may ask a person


class KeyAwayError(ExpectedError):
    """The keyring that keeps the key is locked, or not there for this process."""


class Key:
    """The key of an exchange."""

    def __init__(self, secret: bytes) -> None:
        """``secret``: its 16 random bytes. Raise ExpectedError where ``cryptography`` is missing."""
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415
        except ImportError:
            raise ExpectedError(
                "An encrypted exchange needs the package cryptography; install memoria as claude-memoria[sync]."
            ) from None
        self.secret = secret
        self._cipher = AESGCM(hashlib.blake2b(secret, person=b"memoria seal", digest_size=32).digest())
        self._naming = hashlib.blake2b(secret, person=b"memoria nonce", digest_size=32).digest()

    @classmethod
    def new(cls) -> Key:
        """Return a key that nobody has yet."""
        return cls(secrets.token_bytes(SECRET_BYTES))

    @classmethod
    def of_words(cls, text: str) -> Key:
        """Return the key of twelve words; raise ExpectedError for a word that is none, or words that do not fit."""
        book, said = _word_book(), text.lower().split()
        given = [book.expand_word(word[:4]) for word in said]  # four letters tell them apart
        unknown = [word for word, whole in zip(said, given, strict=True) if whole not in book.wordlist]
        if unknown or len(given) != WORDS:
            wrong = f"{unknown[0]!r} is none of them" if unknown else f"you gave {len(given)}"
            raise ExpectedError(f"The key is {WORDS} words; {wrong}. Nothing was changed.")
        try:
            return cls(bytes(book.to_entropy(given)))
        except ValueError:  # the checksum
            wrong = "These twelve words do not belong together: one of them is wrong. Nothing was changed."
            raise ExpectedError(wrong) from None

    @property
    def words(self) -> str:
        """The twelve words."""
        return _word_book().to_mnemonic(self.secret)

    def seal(self, data: bytes) -> bytes:
        """Return bytes that only this key opens; the same for the same data, so that no nonce seals two."""
        nonce = hmac.digest(self._naming, data, "sha256")[:NONCE_BYTES]
        return nonce + self._cipher.encrypt(nonce, data, None)

    def open(self, sealed: bytes) -> bytes | None:
        """Return what ``seal`` sealed; None when it was another key, or something is missing."""
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415

        try:
            return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], None)
        except (InvalidTag, ValueError):
            return None


def _word_book() -> Mnemonic:
    from mnemonic import Mnemonic  # noqa: PLC0415

    return Mnemonic("english")


def read_key(paths: Paths) -> Key | None:
    """Return the key that this home keeps; raise KeyAwayError when the keyring does not give it now."""
    try:
        text = Path(paths.exchange_key).read_text("ascii")
    except FileNotFoundError:
        return None
    if text == _ELSEWHERE:
        text = _keyring("get_password", paths) or ""
    if not text:
        raise KeyAwayError(
            "The key of the exchange is in the system's keyring, which does not give it now. Unlock it, or give the "
            f"twelve words to {invocation.command('sync ADDRESS')}."
        )
    return Key(bytes.fromhex(text))


def is_kept(paths: Paths) -> bool:
    """Return whether this home keeps a key."""
    return Path(paths.exchange_key).exists()


def keep(paths: Paths, key: Key) -> str:
    """Keep a key; return where."""
    secret = key.secret.hex()
    is_held = _keyring("set_password", paths, secret) is not None and _keyring("get_password", paths) == secret
    files.replace(Path(paths.exchange_key), _ELSEWHERE if is_held else secret, mode=atomic.PRIVATE)
    return "the system's keyring" if is_held else paths.exchange_key


def drop(paths: Paths) -> None:
    """Keep no key."""
    path = Path(paths.exchange_key)
    if path.exists() and path.read_text("ascii") == _ELSEWHERE:
        _keyring("delete_password", paths)
    path.unlink(missing_ok=True)


def _keyring(action: str, paths: Paths, *given: str) -> str | None:
    """Ask the system's keyring; None when there is none, or it is locked or refuses."""
    try:
        import keyring  # noqa: PLC0415
        from keyring.errors import KeyringError  # noqa: PLC0415
    except ImportError:
        return None
    try:
        found = getattr(keyring, action)(_SERVICE, paths.state, *given)
    except (KeyringError, OSError, RuntimeError):
        return None
    return str(found or "")
