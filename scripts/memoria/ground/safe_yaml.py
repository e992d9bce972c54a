"""Safe YAML: what stands in frontmatter, read without running anything and with dates as the text they are.

Slow to import (20 ms), so that ``markdown`` does so only for a page that has frontmatter.
"""

from __future__ import annotations

import yaml

ERRORS = (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError)


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Safe YAML in which dates stay the strings they are."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load(raw: str) -> object:
    """Return what the text says; ValueError when it is no YAML."""
    try:
        loaded: object = yaml.load(raw, Loader=_Loader)  # noqa: S506 (a safe loader)
    except ERRORS as error:
        raise ValueError(" ".join(str(error).split())) from error
    return loaded


def scalar(text: str) -> str:
    """Return the text as a YAML value on one line, quoted when it needs it."""
    dumped: str = yaml.safe_dump(text, allow_unicode=True, width=10_000_000, default_flow_style=True)
    return dumped.removesuffix("\n").removesuffix("\n...").strip()
