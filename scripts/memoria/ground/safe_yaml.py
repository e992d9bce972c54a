"""Safe YAML: read frontmatter without running code, and with dates as plain strings.

Takes 20 ms to import, so ``markdown`` does so only for a page that has frontmatter.
"""

from __future__ import annotations

import re

import yaml

MAX_DEPTH = 100  # of lists and mappings in brackets; the loader takes the square of the depth
_BRACKETS = re.compile(r"[\[\]{}]")
# Besides YAML's own errors: those of values that contradict their tag, or nest too deeply.
ERRORS = (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader that leaves dates as strings."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load(raw: str) -> object:
    """Return the value of a YAML text; raise ValueError when it cannot be loaded."""
    if _depth(raw) > MAX_DEPTH:
        raise ValueError("too many brackets are opened and not closed")
    try:
        loaded: object = yaml.load(raw, Loader=_Loader)  # noqa: S506 (a safe loader)
    except ERRORS as error:
        raise ValueError(" ".join(str(error).split())) from error
    return loaded


def _depth(raw: str) -> int:
    """Return how many brackets are open at once at most, those in quotes included."""
    depth = deepest = 0
    for match in _BRACKETS.finditer(raw):
        depth += 1 if match[0] in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def scalar(text: str) -> str:
    """Return the text as a YAML value on one line, quoted when necessary."""
    dumped: str = yaml.safe_dump(text, allow_unicode=True, width=10_000_000, default_flow_style=True)
    return dumped.removesuffix("\n").removesuffix("\n...").strip()
