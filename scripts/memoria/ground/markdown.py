"""Markdown: the few forms that memoria reads and writes, without their meaning.

Wikilinks and block references as Obsidian defines them (help.obsidian.md, "Internal links"): ``[[target]]``,
``[[target|shown]]``, ``[[target#heading]]``, ``[[target#^block]]``. YAML frontmatter between ``---`` lines.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, ClassVar

from memoria.base import fence
from memoria.base.pattern import Pattern

_LINK = Pattern(r"(?<!\\)\[\[([^\[\]|#\n]*)(#[^\[\]|\n]*)?(?:\|([^\[\]\n]*))?\]\]")
_CODE = Pattern(r"(?s)```.*?(?:```|\Z)|`[^`\n]*`")
_TARGET = r"\((?!https?://|mailto:)((?:[^()\s]|\([^()\s]*\))*)\)"
_ELSEWHERE = Pattern(rf"(?<![\\!\[\])}}\w])\[([^\[\]\n]+)\]{_TARGET}")
_OPENING = Pattern(r"\[{2,}")
_TICKS = Pattern(r"(?<!\\)(\\*)(`+)")
_ANCHOR = Pattern(r"(?m)(?<!\\)\^(?=[a-z]-[0-9a-z]+\s*$)")
# What a tag, comment or Templater command begins with; a picture also with blanks, for readers that are not strict.
_TAG = Pattern(r"(?i)<(?=[A-Za-z/!?%]|\s*(?:img|image|iframe|video|audio|embed|object)\b)")
_FAR = Pattern(r"\]\((?!\s*(?:https?://|mailto:)|[^():/&\\%<]*\))")
_APP = Pattern(r"(?i)(obsidian|file):(?=//)")
_FIELD = Pattern(r"(?<=:):(?=\s|$)")  # Dataview: ``key:: value``
_HIDDEN = Pattern(r"(?<=%)%")  # Obsidian: ``%%`` opens a comment
# What makes the start of a line more than text: quotes and callouts, definitions, headings, fences, rules, underlines.
_START = Pattern(r"(?=>|\[!|\[[^\[\]]*\]:|#{1,6}(?:\s|$)|~{3}|(?:[-*_]\s*){3,}$|=+\s*$)")
_RUN_IN_CODE = Pattern(r"^\s*(?:\$?=|(?:INPUT|VIEW|BUTTON)\[)")  # Dataview and Meta Bind run such code
_ESCAPED_TICK = Pattern(r"\\*`")
_KEY = Pattern(r"^([A-Za-z_][\w-]*)\s*:")
_PLAIN = Pattern(r"(?a)[A-Za-z](?:[\w ./-]*\w)?")  # YAML without quotes, a few words aside
_BRACKETS = Pattern(r"[\[\]{}]")
MAX_DEPTH = 100  # of lists and mappings in brackets


@dataclass(frozen=True, slots=True)
class Link:
    """A wikilink: its ``target`` (empty for a link within the file), ``anchor`` (with the #) and ``shown`` text."""

    target: str
    anchor: str
    shown: str


def links(text: str) -> list[Link]:
    """Return the wikilinks of a text, in order; text in code is not a link."""
    found = _LINK.finditer(_CODE.sub("", text))
    return [Link(match[1].strip(), (match[2] or "").strip(), (match[3] or "").strip()) for match in found]


def line(text: str) -> str:
    """Return text of a model or a transcript as one inert line of markdown, which shows it and does nothing else.

    Only emphasis, code and links to the web keep their meaning. Tags, comments, embeds, wikilinks, links to files and
    programs, block ids, fields and queries of Dataview, commands of Templater, and what makes the start of a line a
    callout, heading, fence or definition are escaped. The result of another call with the result is the same text.
    """
    flat = " ".join(fence.strip_invisible(text).split())
    spans = _code(flat)

    def is_code(place: int) -> bool:
        number = bisect_left(spans, (place, 0)) - 1
        return number >= 0 and place < spans[number][1]

    flat = _ELSEWHERE.sub(
        lambda link: link[0] if is_code(link.start()) or is_code(link.end()) else _spell(link[1], link[2]), flat
    )
    flat = flat.replace("<!--", "&lt;!--").replace("-->", "--&gt;")
    pieces = []
    end = 0
    for start, close in _code(flat):  # in code, brackets are code
        pieces += [_escape(flat[end:start]), _inert_code(flat[start:close])]
        end = close
    flat = "".join(pieces) + _escape(flat[end:])
    return _inert_start(_ANCHOR.sub(r"\\^", flat))


def _code(text: str) -> list[tuple[int, int]]:
    """Return start and end of each code span in a line: text between equal runs of backticks (CommonMark 0.31, 6.1)."""
    runs = list(_TICKS.finditer(text))
    starts: dict[int, list[int]] = {}
    for run in runs:
        starts.setdefault(len(run[2]), []).append(run.start(2))
    found: list[tuple[int, int]] = []
    past = 0
    for run in runs:
        escaped = len(run[1]) % 2  # then the first backtick is plain text
        length = len(run[2]) - escaped
        closing = starts.get(length, [])
        number = bisect_left(closing, run.end())
        if run.start(2) >= past and number < len(closing):
            past = closing[number] + length
            found.append((run.start(2) + escaped, past))
    return found


def _escape(text: str) -> str:
    text = _OPENING.sub(lambda run: r"\[" * len(run[0]), text)
    text = _FAR.sub(r"]\\(", _TAG.sub("&lt;", text.replace("![", r"!\[")))
    return _HIDDEN.sub(r"\\%", _FIELD.sub(r"\\:", _APP.sub(r"\1\\:", text)))


def _inert_code(span: str) -> str:
    """Return a code span, or its words when an extension would run it; Templater looks into code too."""
    span = span.replace("<%", "< %")
    if not _RUN_IN_CODE.match(span.strip("`")):
        return span
    return _escape(_ESCAPED_TICK.sub(r"\\`", span))


def _inert_start(text: str) -> str:
    """Return a line that begins no block of its own: no callout, heading, fence, rule or definition."""
    ticks = len(text) - len(text.lstrip("`"))
    if ticks >= 3 and not any(start == 0 for start, _ in _code(text)):  # a fence without an end
        return r"\`" * ticks + text[ticks:]
    return "\\" + text if _START.match(text) else text


def _spell(label: str, target: str) -> str:
    return label if not target or target in label else f"{label} ({target})"


def strip_bullet(text: str) -> str:
    """Return the text of a list item without a bullet or checkbox that a model wrote itself."""
    return re.sub(r"^\s*(?:[-*+]\s+)?(?:\[[ xX]?\]\s+)?", "", fence.strip_invisible(text))


def cut(text: str, limit: int) -> str:
    """Return the first words of an inert line, at most ``limit`` characters; a code span is not cut in two.

    Half a code span would be text, in which everything that was left alone as code could act.
    """
    if len(text) <= limit:
        return text
    end = text[: limit + 1].rfind(" ")
    end = limit if end < limit // 2 else end
    end = next((start for start, close in _code(text) if start < end < close), end)
    return text[:end].rstrip("\\ :")


class Frontmatter:
    """YAML between ``---`` lines. Keys are set one by one; every other line stays as a person wrote it."""

    def __init__(self, raw: str) -> None:
        """Read ``raw``, the text between the ``---`` lines; raise ValueError when it is not a YAML mapping."""
        self.raw = raw
        loaded: object = {}
        if raw.strip():
            try:
                loaded = load_yaml(raw)
            except ValueError as error:
                raise ValueError(f"invalid frontmatter: {error}") from error
        if not isinstance(loaded, dict):
            raise ValueError("invalid frontmatter: it must be a mapping of keys to values")
        self.values: dict[str, Any] = loaded

    @classmethod
    def of(cls, values: Mapping[str, str | list[str]]) -> Frontmatter:
        """Return a new one with these values."""
        return cls("\n".join(row for key, value in values.items() for row in _dump(key, value)))

    def text(self, key: str) -> str:
        """Return the value as a string, ``""`` when the key has none."""
        value = self.values.get(key)
        return "" if value is None else str(value)

    def texts(self, key: str) -> list[str]:
        """Return the value as a list of strings; a single value becomes a list of one."""
        value = self.values.get(key)
        parts = value if isinstance(value, list) else [value]
        return [str(part) for part in parts if part is not None]

    def set(self, key: str, value: str | list[str]) -> None:
        """Replace the lines of ``key``, or add them; an unchanged value changes no byte.

        A form that cannot be changed line by line (a flow mapping, a quoted key) stays as the person wrote it.
        """
        current = self.texts(key) if isinstance(value, list) else self.text(key)
        if current == value:
            return
        start, end = self._block(key)
        rows = self.raw.split("\n") if self.raw else []
        self._become([*rows[:start], *_dump(key, value), *rows[end:]], key, value)

    def add(self, key: str, values: list[str]) -> None:
        """Add values to a list. A list in block style gets new lines, so that its order and comments stay."""
        known = self.texts(key)
        fresh = [value for value in dict.fromkeys(values) if value and value not in known]
        if not fresh:
            return
        start, end = self._block(key)
        rows = self.raw.split("\n") if self.raw else []
        items = [number for number in range(start, end) if rows[number].lstrip().startswith("- ")]
        if not items:
            self.set(key, known + fresh)
            return
        last = rows[items[-1]]
        indent = last[: len(last) - len(last.lstrip())]
        grown = [f"{indent}- {_scalar(value)}" for value in fresh]
        self._become([*rows[: items[-1] + 1], *grown, *rows[items[-1] + 1 :]], key, known + fresh)

    def _block(self, key: str) -> tuple[int, int]:
        """Return the first row of a key and the row after its last; the end twice when the key is missing."""
        rows = self.raw.split("\n") if self.raw else []
        start = next((n for n, row in enumerate(rows) if (match := _KEY.match(row)) and match[1] == key), len(rows))
        end = start + 1
        while end < len(rows) and (not rows[end] or rows[end][0] in " \t-"):
            end += 1
        while end > start + 1 and not rows[end - 1].strip():
            end -= 1
        return start, min(end, len(rows))

    def _become(self, rows: list[str], key: str, value: str | list[str]) -> None:
        raw = "\n".join(rows)
        try:
            grown = Frontmatter(raw)
        except ValueError:
            return
        expected = self.values | {key: value}
        wanted = value if isinstance(value, list) else [value]
        if list(grown.values) == list(expected) and grown.texts(key) == wanted:
            self.raw, self.values = raw, grown.values


def _dump(key: str, value: str | list[str]) -> list[str]:
    if isinstance(value, list):
        return [f"{key}:", *(f"  - {_scalar(part)}" for part in value)] if value else [f"{key}: []"]
    return [f"{key}: {_scalar(value)}"]


@lru_cache(1000)
def _scalar(text: str) -> str:
    """Return the text as a YAML value on one line, quoted when necessary."""
    if _PLAIN.fullmatch(text) and text.casefold() not in ("true", "false", "yes", "no", "on", "off", "null"):
        return text  # as the dumper would, which takes 0.4 ms
    import yaml  # noqa: PLC0415 (as below)

    dumped: str = yaml.safe_dump(text, allow_unicode=True, width=10_000_000, default_flow_style=True)
    return dumped.removesuffix("\n").removesuffix("\n...").strip()


@cache
def _loader() -> Any:
    """Return a loader that runs no code and leaves dates as strings."""
    import yaml  # noqa: PLC0415 (takes 20 ms, and many pages have no frontmatter)

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        yaml_implicit_resolvers: ClassVar = {
            first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

    return Loader


@lru_cache(100)  # a page is read several times while it is written; nobody changes what is returned
def load_yaml(raw: str) -> object:
    """Return the value of a YAML text; raise ValueError when it cannot be loaded."""
    import yaml  # noqa: PLC0415 (as above)

    depth = deepest = 0  # of brackets, those in quotes included; the loader takes the square of it
    for bracket in _BRACKETS.finditer(raw):
        depth += 1 if bracket[0] in "[{" else -1
        deepest = max(deepest, depth)
    if deepest > MAX_DEPTH:
        raise ValueError("too many brackets are opened and not closed")
    try:
        loaded: object = yaml.load(raw, Loader=_loader())  # noqa: S506 (a safe loader)
    # besides YAML's own errors, those of values that contradict their tag, or nest too deeply
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError) as error:
        raise ValueError(" ".join(str(error).split())) from error
    return loaded


MAX_LEVEL = 6  # of headings
_UNDERLINE = Pattern(r" {0,3}(=+|--+)[ \t\r]*")  # a lone hyphen begins a list
_FENCE = Pattern(r"\s*(`{3,}|~{3,})(.*)")


def code_rows(rows: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each row and whether it belongs to a fenced code block (CommonMark 0.31, 4.5), fences included.

    A fence may have any indentation, because lists indent it.
    """
    fence = ""
    for row in rows:
        match = _FENCE.match(row)
        if fence:
            yield row, True
            if match and match[1].startswith(fence) and not match[2].strip():
                fence = ""
        elif match and not (match[1].startswith("`") and "`" in match[2]):
            fence = match[1]
            yield row, True
        else:
            yield row, False


def heading(row: str) -> tuple[int, str]:
    """Return the level and text of a heading, without closing number signs; ``(0, "")`` for any other row."""
    if "\n" in row and (line := _UNDERLINE.fullmatch(row.rpartition("\n")[2])):
        return (1 if line[1][0] == "=" else 2), row.partition("\n")[0].strip()
    level = len(row) - len(row.lstrip("#"))
    if not 1 <= level <= MAX_LEVEL or row[level : level + 1] not in ("", " ", "\t", "\r"):
        return 0, ""
    text = row[level:].strip(" \t\r")
    bare = text.rstrip("#")
    return level, bare.rstrip(" \t") if bare[-1:] in ("", " ", "\t") else text


def head_rows(rows: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Yield each row and whether it belongs to a code block; an underlined heading is one row with the line below it.

    (CommonMark 0.31, 4.3.) Its text is one line: a paragraph above a rule is no heading.
    """
    told = [*code_rows(rows), ("", False)]
    above, number = "", 0
    while number < len(told) - 1:
        (row, in_code), (below, _) = told[number : number + 2]
        is_first = not above.strip() or heading(above)[0]  # in its paragraph
        if is_first and not in_code and _LONE.match(row) and _UNDERLINE.fullmatch(below):
            row, number = f"{row}\n{below}", number + 1
        yield row, in_code
        above, number = row, number + 1


def first_heading(rows: Iterable[str]) -> str:
    """Return the text of the first level-1 heading, ``""`` when none precedes the first level-2 heading."""
    for row, in_code in head_rows(rows):
        level, text = (0, "") if in_code else heading(row)
        if level == 1:
            return text
        if level == 2:
            break
    return ""


# What begins a block and so ends the text of an item or paragraph (CommonMark 0.31, 4 and 5): an item, quote, heading,
# table, comment, fence, rule or underline. Without indentation a label ends it too, and an entry's block id.
_NUMBER = r"\d{1,3}[.)]"  # of an item; one with more digits is a year
_LABEL = r"\*\*[A-Z][A-Za-z ]+:\*\*"
_WORDS = rf"(?=\S)(?!(?:[-*+\u2022]|{_NUMBER})(?:\s|$)|[>|]|#{{1,6}}(?:\s|$)|<!--|```|~~~|[-=*_|: ]+$)"
_LONE = Pattern(rf" {{0,3}}{_WORDS}")
_TEXT = Pattern(rf"(?!{_LABEL}$|\^e-)(?:\s*<!--(?!.*-->)|[\s>]*(?:([-*+\u2022]|{_NUMBER})\s+)*{_WORDS})")
_MORE = rf"(?!{_LABEL}|\^e-)\s*{_WORDS}"
_MORE_OF_NUMBER = Pattern(_MORE)
_MORE_OF_BULLET = Pattern(rf"{_MORE}|\s+(?!1[.)]){_NUMBER}(?:\s|$)")  # where only 1 begins a list: "24. June"
_MORE_OF_PARAGRAPH = Pattern(rf"{_MORE}|\s*(?!1[.)]){_NUMBER}(?:\s|$)")
_MORE_OF_QUOTE = Pattern(rf"\s*>[\s>]*{_WORDS}")
BLOCK_ID = Pattern(r"(?:^|\s)\^[A-Za-z0-9-]+\s*$")  # at the end of a row


def more_text(row: str) -> re.Pattern[str] | None:
    """Return what a row looks like that is more of the text in ``row``, of any kind; None when there is no text."""
    found, first = _TEXT.match(row), row.lstrip()[:1]
    if found is None or first == ">":
        return found and _MORE_OF_QUOTE
    return _MORE_OF_PARAGRAPH if found[1] is None else _MORE_OF_NUMBER if first.isdigit() else _MORE_OF_BULLET


def is_whole(first: str, last: str) -> bool:
    """Return whether a text from the row ``first`` ends with ``last``: by a block id, or the end of a comment."""
    is_comment = last.endswith("-->") and first.lstrip().startswith("<!--")
    return is_comment or ("^" in last and BLOCK_ID.search(last) is not None)


def texts(rows: Iterable[str], more: Callable[[str], re.Pattern[str] | None] = more_text) -> Iterator[list[str]]:
    """Yield the rows of each text together: of an item, a paragraph, a quote or a comment; any other row by itself.

    ``more``: what a row looks like that is more of the text in another one.
    """
    together: list[str] = []
    goes_on = None
    for row, in_code in code_rows(rows):
        bare = row.rstrip()
        if goes_on and bare and not in_code and goes_on.match(bare):
            together.append(row)
        else:
            if together:
                yield together
            together, goes_on = [row], None if in_code else more(bare)
        if goes_on and is_whole(together[0], bare):
            goes_on = None
    if together:
        yield together


def drop_lines(rows: Sequence[str], holds: Callable[[str], bool]) -> list[str]:
    """Return the rows of one text without the fewest that hold something, each by itself or several together.

    Of an item, a comment, and what has a block id nothing is left, because half of it would say something else.
    """
    found, is_comment = _TEXT.match(rows[0]), rows[0].lstrip().startswith("<!--")
    if found is None or found[1] is not None or is_comment or BLOCK_ID.search(rows[-1].rstrip()):
        return []
    texts, left = [row.strip().lstrip("> \t") for row in rows], list(range(len(rows)))
    while left and holds(" ".join(texts[place] for place in left)):
        windows = (left[at : at + size] for size in range(1, len(left) + 1) for at in range(len(left) - size + 1))
        gone = next(window for window in windows if holds(" ".join(texts[place] for place in window)))
        left = [place for place in left if place not in gone]
    return [rows[place] for place in left] if len(left) < len(rows) else []


_CLOSE = Pattern(r"(?m)^---[ \t\r]*$")


def split_frontmatter(text: str) -> tuple[str | None, str]:
    """Return the raw frontmatter, or None when there is none, and the rest. Lines must end in a line feed."""
    opening = re.match(r"---[ \t\r]*\n", text)
    closing = _CLOSE.search(text, opening.end()) if opening else None
    if not opening or not closing:
        return None, text
    return text[opening.end() : closing.start()].removesuffix("\n"), text[closing.end() + 1 :]


def read_page(text: str) -> tuple[Frontmatter, str]:
    """Return the frontmatter and the body of a page, whatever its line endings.

    When the frontmatter is not a YAML mapping, it counts as text: the result is an empty frontmatter and a body that
    holds everything.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    raw, body = split_frontmatter(text)
    try:
        return Frontmatter(raw or ""), body
    except ValueError:
        return Frontmatter(""), text
