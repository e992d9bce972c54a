"""Redact: remove secrets from a text before it is written to a daily log or an archive, or shown to a model.

A mark such as ``[redacted:aws-key]`` replaces each secret; the words around it stay, so that the text remains useful.
Redacted are ``<private>`` passages, private keys, the keys of common services (``key_patterns``), values that words
near them name (``named``) or that stand where secrets stand (``placed``), and random strings. docs/redaction.md
measures what is found and what is missed; docs/decisions/0020-redaction.md says why this is not a library.

Knows texts; does not know turns, files or models. Redacting twice changes nothing more. The time is linear in the
length of the text, whatever it holds.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from memoria.ground import key_patterns, placed
from memoria.ground.named import Span, named_values
from memoria.ground.values import is_mixed, is_name


class Redactor:
    """A redactor that counts the secrets it removes, by kind.

    ``[redacted:own]`` replaces every match of ``extra``, the user's own patterns (setting ``redact_extra``). A pattern
    that cannot be used is skipped and named in ``problems``. How fast they match is not checked.
    """

    def __init__(self, extra: Iterable[str] = ()) -> None:
        self.counts: Counter[str] = Counter()
        self.problems: tuple[str, ...] = ()
        self._extra: list[re.Pattern[str]] = []
        for pattern in extra:
            try:
                compiled = re.compile(pattern)
            except (re.error, RecursionError, OverflowError) as error:
                self.problems += (f"redact_extra: {pattern!r} is not a regular expression ({error}); ignored",)
                continue
            if compiled.match(""):
                self.problems += (f"redact_extra: {pattern!r} matches the empty text; ignored",)
            else:
                self._extra.append(compiled)

    def redact(self, text: str) -> str:
        """Return the text with a mark in place of each secret."""
        for _ in range(_PASSES):
            found = self.find(text)
            if not found:
                break
            self.counts.update(kind for _, _, kind in found)
            text = _mark(text, found)
        return text

    def redact_json(self, value: Any, name: str = "") -> Any:
        """Return a JSON value with a mark in place of each secret; ``name``, the key that holds it, may tell of one."""
        if isinstance(value, dict):
            return {self.redact(key): self.redact_json(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return [self.redact_json(each, name) for each in value]
        if not isinstance(value, str):
            return value
        text = self.redact(value)
        before = f'{name}: "'
        whole = self.redact(f'{before}{text}"') if name else ""
        return whole[len(before) : -1] if whole.startswith(before) and whole.endswith('"') else text

    def find(self, text: str) -> list[Span]:
        """Return start, end and kind of the secrets found in one pass, in order and without overlaps."""
        spans = list(_spans(text))
        for pattern in self._extra:
            spans.extend((match.start(), match.end(), "own") for match in pattern.finditer(text) if match.group())
        return _merge(text, spans) if spans else []


def redact(text: str) -> str:
    """Return the text with a mark in place of each secret, for callers that need no counts."""
    return Redactor().redact(text)


def marker(secrets: object) -> Callable[[Any], Any]:
    """Return what puts ``[redacted:seen]`` in place of these secrets, which a model found, in a JSON value's strings.

    What cannot be one (no string, shorter than 4 or longer than 200 characters, a mark) is ignored; one shorter than 6
    is only found where it is no part of a longer word or number.
    """
    seen = sorted({each for each in secrets if _can_be_secret(each)} if isinstance(secrets, list) else (), key=len)
    words = (r"\s+".join(map(re.escape, each.split())) for each in reversed(seen))  # a line may break in it
    alone = (rf"(?<!\w){each}(?!\w)" if len(each) < _PART else each for each in words)
    pattern = re.compile("|".join(alone), re.IGNORECASE)

    def mark(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: mark(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [mark(each) for each in value]
        return pattern.sub("[redacted:seen]", value) if seen and isinstance(value, str) else value

    return mark


_PART = 6  # a shorter secret may stand in other words by chance


def _can_be_secret(value: object) -> bool:
    if not (isinstance(value, str) and 4 <= len(value.strip()) <= 200):
        return False
    rest = _MARK.sub("", value).strip()  # the rules may have marked a part of it
    return bool(rest) and "redacted" not in rest


# A mark can bring together two pieces of text that then look like an assignment, which the next pass finds. Each pass
# leaves less to find; the limit keeps the time linear.
_PASSES = 4
_MARK = re.compile(r"\[redacted:[a-z0-9-]{1,40}\]")


def _mark(text: str, found: list[Span]) -> str:
    pieces = []
    place = 0
    for start, end, kind in found:
        pieces += [text[place:start], f"[redacted:{kind}]"]
        place = end
    return "".join([*pieces, text[place:]])


def _spans(text: str) -> Iterator[Span]:
    """Yield the findings of all finders, the most reliable one first."""
    lowered = text.replace("\u0130", "I").lower()  # the one letter whose lower case is longer; offsets must not change
    yield from _find_private(text, lowered)
    yield from _private_keys(text)
    yield from key_patterns.keys_around(text)
    runs = [run.span() for run in _RUN.finditer(text)]
    yield from _keys(text, runs)
    for finder in (*placed.FINDERS, named_values):
        for start, end, kind in finder(text, lowered):
            yield start, _extend_key(text, start, end), kind
    yield from _random(text, runs)


def _merge(text: str, spans: list[Span]) -> list[Span]:
    """Merge overlapping findings into one with the kind of the most reliable; existing marks are not findings."""
    rank = {span: number for number, span in reversed(list(enumerate(spans)))}
    merged: list[tuple[int, int, int]] = []
    for span in sorted(rank):
        start, end, _ = span
        if _MARK.fullmatch(text, start, end):
            continue
        if merged and start < merged[-1][1]:
            first, last, best = merged.pop()
            merged.append((first, max(last, end), min(best, rank[span])))
        else:
            merged.append((start, end, rank[span]))
    return [(start, end, spans[best][2]) for start, end, best in merged]


# ── <private> ──────────────────────────────────────────────────────────────────────────────────────────────────────

_TAG = re.compile(r"<(/?)private(?:[ \t][^<>\n]{0,200})?>")


def _find_private(text: str, lowered: str) -> Iterator[Span]:
    """Yield each passage from ``<private>`` to its ``</private>`` or to the end of the text; pairs may be nested.

    An opening tag in backticks is a mention and is ignored.
    """
    if "<private" not in lowered:
        return
    depth = start = 0
    for tag in _TAG.finditer(lowered):
        if not depth and text[tag.start() - 1 : tag.start()] == "`" and text[tag.end() : tag.end() + 1] == "`":
            continue
        if not tag.group(1):
            start = start if depth else tag.start()
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield start, tag.end(), "private"
    if depth:
        yield start, len(text), "private"


# ── private keys ───────────────────────────────────────────────────────────────────────────────────────────────────

_KEY_EDGE = re.compile(r"-----(BEGIN|END)[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BREAK = r"(?:\\{1,2}r)?(?:\\{1,2}n|\r?\n)[ \t>|]{0,40}"
_BODY_LINE = r"(?:[A-Za-z0-9+/]{16,}={0,2}|=[A-Za-z0-9+/]{4}|(?:Proc-Type|DEK-Info|Version|Comment): [^\n\\]{1,80})"
_KEY_BODY = re.compile(rf"(?:(?:[ \t]?{_BREAK}){{1,3}}|[ \t]{{1,3}})(?:{_BODY_LINE})")
_KEY_END = re.compile(
    rf"(?:[ \t]?{_BREAK}){{0,3}}[A-Za-z0-9+/]{{0,15}}={{0,2}}(?:[ \t]?{_BREAK}){{0,3}}[ \t]?"
    r"-----END[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"
)
_KEY_SCRAP = re.compile(rf"(?:[ \t]?{_BREAK})(?=[A-Za-z0-9+/]{{0,15}}[0-9+/=])[A-Za-z0-9+/]{{1,15}}={{0,2}}(?![\w ])")
_PUTTY = re.compile(r"(?<=Private-Lines: )\d{1,3}(?:\r?\n[A-Za-z0-9+/]{16,64}={0,2}){1,200}")
_BODY_BACKWARDS = re.compile(
    r"(?:[ \t\r\n>|]|[nr]\\{1,2}){0,40}={0,2}[A-Za-z0-9+/]{4,100}"
    r"(?:(?:[ \t\r\n>|]|[nr]\\{1,2}){1,40}[A-Za-z0-9+/]{16,100})*"
)


def _private_keys(text: str) -> Iterator[Span]:
    """Yield PEM, OpenSSH and PGP private keys, also escaped as in JSON, and without their BEGIN or END line."""
    yield from ((*lines.span(), "private-key") for lines in _PUTTY.finditer(text))
    if "PRIVATE KEY" not in text:
        return
    place = 0
    for edge in _KEY_EDGE.finditer(text):
        if edge.start() < place:
            continue
        if edge.group(1) == "BEGIN":
            end = _key_end(text, edge.end())
            if end > edge.end():
                yield edge.start(), end, "private-key"
                place = end
        else:
            start = _key_start(text, edge.start(), place)
            if start < edge.start():
                yield start, edge.end(), "private-key"


def _key_end(text: str, start: int) -> int:
    end = start
    while line := _KEY_BODY.match(text, end):
        end = line.end()
    if end == start:
        return start
    if last := _KEY_END.match(text, end) or _KEY_SCRAP.match(text, end):
        end = last.end()
    return end


def _key_start(text: str, end: int, floor: int) -> int:
    """Return where the base64 lines before an END line start, for a key without a BEGIN line."""
    lines = _BODY_BACKWARDS.match(text[max(floor, end - 8000) : end][::-1])
    return end - lines.end() if lines else end


# ── runs: the keys of services, and random strings ─────────────────────────────────────────────────────────────────

_RUN = re.compile(r"[A-Za-z0-9_+/=.~:%-]{12,}")
_TELLING = re.compile(r"[A-Z0-9]")  # most paths and names are all lower case; no key is
_IS_HASH = re.compile(r"sha\d{1,3}[=:-]")
_NEXT_PIECE = re.compile(r"[ \t]*\\?\r?\n[ \t>|]{0,40}([A-Za-z0-9_+/=.~-]{4,})")
_SHORT_PIECE = re.compile(r"(?<![A-Za-z0-9_+/.~-])([A-Za-z0-9_+/=.~:%-]{3,15})[ \t]?\\?\r?\n[ \t]{0,40}\Z")
_LONE_PIECE = re.compile(r"""[ \t]*\\?\r?\n[ \t>|]{0,40}([A-Za-z0-9+/_.~=-]{6,})(?=[\\"'`,;)\]}]*[ \t]*(?:\r?\n|\Z))""")


def _keys(text: str, runs: list[tuple[int, int]]) -> Iterator[Span]:
    """Yield the keys of services in the long runs of key characters, also when line breaks split them."""
    telling, begins = _TELLING.search, key_patterns.BEGINS.search
    for start, end in runs:
        if end - start < 16 or not telling(text, start, end) or _IS_HASH.match(text, start):
            continue
        if text.endswith((" ", "\t", "\n"), 0, start):
            yield from _cut_before(text, start)
        if not begins(text, start, end):
            continue
        found = False
        for key_start, key_end, kind in key_patterns.keys(text, start, end):
            found = True
            yield key_start, _extend_key(text, key_start, key_end), kind
        if not found:
            yield from _cut(text, start, end)


def _cut_before(text: str, start: int) -> Iterator[Span]:
    """Yield a key whose first piece, at the end of the line before, is too short to be a run."""
    first = _SHORT_PIECE.search(text, max(0, start - 60), start)
    if first and key_patterns.BEGINS.search(text, *first.span(1)):
        yield from _cut(text, *first.span(1))


def _cut(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield a service's key that line breaks split into up to four pieces, none of which is a key itself."""
    joined, last = text[start:end], end
    for _ in range(3):
        piece = _NEXT_PIECE.match(text, last)
        if not piece:
            return
        joined, last = joined + piece[1], piece.end()
        for key_start, _, kind in key_patterns.keys(joined, 0, len(joined)):
            if key_start < end - start:
                yield start + key_start, _extend_key(text, start, last), kind
                return


def _extend_key(text: str, start: int, end: int) -> int:
    """Return the end of a key that line breaks split; a next line belongs to it when it is one random piece."""
    if end - start < 16:
        return end
    while piece := _LONE_PIECE.match(text, end):
        value = piece.group(1)
        if not (is_mixed(value) and any(map(str.isdigit, value)) and any(map(str.isalpha, value))):
            break
        if value.startswith("/") or value.count(".") > 2 or "=" in value.rstrip("="):
            break
        end = piece.end()
    return end


_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_TWO_NUMBERS = re.compile(r"[0-9][^0-9]+[0-9]")
_RANDOM_MAX = 200
_RANDOM = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")

_NOT_SECRET_BEFORE = re.compile(
    r"(?:sha\d{1,3}[:=]|h1:|base64(?:,|%2C)|ssh-[a-z0-9-]{3,20} |ecdsa-[a-z0-9-]{3,20} |://[^\s?]{0,100}|[\w)]/|@"
    r"|(?:integrity|fingerprint|etag|nonce|hash|digest|checksum|address|list|public[_-]?key|id)[\\\"':= W/-]{1,9}"
    r"|-----(?:\s|\\n){1,3})$",  # certificates and public keys
    re.IGNORECASE,
)
_NOT_SECRET = re.compile(
    r"sha\d{1,3}-|\d{6,}[-_]|0x|LS0t|pk_(?:live|test)_|(?:[a-z]{2,20}/){2}|eyJ(?:hbGci|0eXAi)"
    r"|(?:[a-z]{2,12}[-_]){1,3}[A-Za-z0-9]{1,31}$"
)  # hash, JWT header, id


def _random(text: str, runs: list[tuple[int, int]]) -> Iterator[Span]:
    """Yield random strings of digits and letters of both cases, but no hashes, ids, paths, names or encoded data."""
    for start, end in runs:
        if not _TWO_NUMBERS.search(text, start, end):
            continue
        escaped = text[start - 1 : start] == "\\" and text[start] in "nrt"  # half of an escaped line break
        for token in _RANDOM.finditer(text, start + escaped, end):
            value = token.group()
            if len(value) > _RANDOM_MAX or not _is_random(value) or _NOT_SECRET.match(value):
                continue
            before = max(0, token.start() - 120)
            is_part = text.startswith("@", token.end())
            if len(value) < 20:  # a short one is no part of anything
                around = text[token.start() - 1 : token.start()], text[token.end() : token.end() + 1]
                is_part = bool(around[0].strip(" \t\r\n\"'`(,=:") or around[1].strip(" \t\r\n\"'`),;"))
            if not (is_part or _NOT_SECRET_BEFORE.search(text, before, token.start()) or _is_in_block(text, token)):
                yield token.start(), token.end(), "high-entropy"


def _is_random(value: str) -> bool:
    """Return whether a string is drawn from digits and letters of both cases: no path, name or sentence in base64."""
    breaks = len(re.findall("[/_+-]", value))
    if breaks > (len(value) // 10 + 1 if len(value) >= 32 else 0):
        return False  # a cheap test that excludes most paths and names
    digits, upper, lower = (sum(map(kind, value)) for kind in (str.isdigit, str.isupper, str.islower))
    if digits < 2 or upper < 3 or lower < 3 or len(set(value)) < min(18, len(value) * 0.6):
        return False
    is_text = len(value) % 4 == 0 and _BASE64.fullmatch(value) and base64.b64decode(value).isascii()
    is_drawn = not is_name(value) and is_mixed(value, 0.34 if len(value) >= 32 else 0.39)
    return not is_text and is_drawn and _TWO_NUMBERS.search(value) is not None


def _is_in_block(text: str, token: re.Match[str]) -> bool:
    """Return whether the lines around the token show that it is part of encoded data (a certificate, a picture)."""
    length = token.end() - token.start()
    before = text[max(0, token.start() - length - 2) : token.start()]
    after = text[token.end() : token.end() + length + 2]
    return any(
        len(side.strip()) >= length and "\n" in side and _RANDOM.fullmatch(side.strip()) is not None
        for side in (before, after)
    )
