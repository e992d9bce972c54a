"""Markdown: the few forms that memoria reads and writes, and nothing about what they mean.

Wikilinks and block references as Obsidian defines them (help.obsidian.md, "Internal links"): ``[[target]]``,
``[[target|shown]]``, ``[[target#heading]]``, ``[[target#^block]]``. YAML frontmatter between ``---`` lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from memoria import fence

_LINK = re.compile(r"(?<!\\)\[\[([^\[\]|#\n]*)(#[^\[\]|\n]*)?(?:\|([^\[\]\n]*))?\]\]")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_ANCHOR = re.compile(r"\^(?=[a-z]-[0-9a-z]+\s*$)", re.MULTILINE)
_KEY = re.compile(r"^([A-Za-z_][\w-]*)\s*:")


@dataclass(frozen=True, slots=True)
class Link:
    """A wikilink: ``target`` (may be empty for a link inside the file), ``anchor`` (with its #), what is ``shown``."""

    target: str
    anchor: str
    shown: str


def links(text: str) -> list[Link]:
    """The wikilinks of a text, in order; what stands in code is no link."""
    found = _LINK.finditer(_CODE.sub("", text))
    return [Link(match[1].strip(), (match[2] or "").strip(), (match[3] or "").strip()) for match in found]


def line(text: str) -> str:
    """``text`` from a model or a transcript as one inert line: no heading, comment, block id or wikilink of its own."""
    flat = " ".join(fence.visible(text).split())
    flat = flat.replace("<!--", "&lt;!--").replace("-->", "--&gt;")
    pieces = []
    end = 0
    for match in _CODE.finditer(flat):  # in code, brackets are code
        pieces += [_inert(flat[end : match.start()]), match[0]]
        end = match.end()
    flat = "".join(pieces) + _inert(flat[end:])
    return _ANCHOR.sub(r"\\^", flat)


def _inert(text: str) -> str:
    return text.replace("[[", r"\[\[").replace("![", r"!\[")


def item(text: str) -> str:
    """One list item of model text; a checkbox or bullet the model wrote itself is not doubled."""
    return "- " + re.sub(r"^(?:[-*+]\s+)?(?:\[[ xX]?\]\s+)?", "", line(text))


class Frontmatter:
    """YAML between ``---`` lines; known keys are set one by one, every other line stays as a person wrote it."""

    def __init__(self, raw: str) -> None:
        """``raw`` is the text between the fences; ValueError when it is not a YAML mapping."""
        self.raw = raw
        try:
            loaded = yaml.load(raw, Loader=_Loader) if raw.strip() else {}  # noqa: S506 (a safe loader)
        except yaml.YAMLError as error:
            raise ValueError(f"invalid frontmatter: {' '.join(str(error).split())}") from error
        if not isinstance(loaded, dict):
            raise ValueError("invalid frontmatter: it must be a mapping of keys to values")
        self.values: dict[str, Any] = loaded

    def text(self, key: str) -> str:
        """The value as a string, ``""`` when there is none."""
        value = self.values.get(key)
        return "" if value is None else str(value)

    def texts(self, key: str) -> list[str]:
        """The value as a list of strings; a single value is a list of one."""
        value = self.values.get(key)
        if value is None:
            return []
        return [str(part) for part in value] if isinstance(value, list) else [str(value)]

    def set(self, key: str, value: str | list[str]) -> None:
        """Replace the lines of ``key`` (or add them); unchanged values change no byte."""
        current = self.texts(key) if isinstance(value, list) else self.text(key)
        if current == value and key in self.values:
            return
        block = _dump(key, value)
        rows = self.raw.splitlines()
        kept: list[str] = []
        inside = placed = False
        for row in rows:
            match = _KEY.match(row)
            if match or (row and row[0] not in " \t-#"):
                inside = bool(match and match[1] == key)
            if inside:
                if not placed:
                    kept += block
                    placed = True
                continue
            kept.append(row)
        self.raw = "\n".join(kept if placed else kept + block)
        self.values[key] = value


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Safe YAML in which dates stay the strings they are."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _dump(key: str, value: str | list[str]) -> list[str]:
    if isinstance(value, list):
        return [f"{key}:", *(f"  - {_scalar(part)}" for part in value)] if value else [f"{key}: []"]
    return [f"{key}: {_scalar(value)}"]


def _scalar(text: str) -> str:
    dumped = yaml.safe_dump(text, allow_unicode=True, width=10_000_000, default_flow_style=True)
    return dumped.removesuffix("\n").removesuffix("\n...").strip()


def split_frontmatter(text: str) -> tuple[str, str]:
    """The raw frontmatter and the rest; ``""`` and the whole text when it has none."""
    if not text.startswith("---\n"):
        return "", text
    end = text.find("\n---", 3)
    if end == -1 or text[end + 4 : end + 5] not in ("", "\n"):
        return "", text
    return text[4 : end + 1].rstrip("\n"), text[end + 5 :]
