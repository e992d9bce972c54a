"""Digest: texts and files identified by their SHA-256, for modules that mostly have nothing to identify."""

from __future__ import annotations


def sha256(data: str | bytes) -> str:
    """Return the 64 hexadecimal digits of the SHA-256 of bytes, or of a text as UTF-8, ``?`` for lone surrogates."""
    import hashlib  # noqa: PLC0415 (loads OpenSSL, 3 ms)

    return hashlib.sha256(data.encode("utf-8", "replace") if isinstance(data, str) else data).hexdigest()
