"""LinkCache: where each article links to, stored in the search index's file so that not every page must be parsed."""

from __future__ import annotations

import json
from dataclasses import dataclass

from memoria.ground import markdown
from memoria.index.index import Index
from memoria.wiki.folder import Wiki

_KIND = "links 1"  # change the number when the meaning of a row changes


@dataclass(frozen=True, slots=True)
class LinkCache:
    """The links of one wiki; ``index`` is the index whose file stores them."""

    wiki: Wiki
    index: Index

    def targets(self) -> dict[str, tuple[str, ...]]:
        """Return by slug the targets that each article links to, as they are written and each once."""
        cached = self.index.cached(_KIND, dict(self.wiki.files()), lambda slug: json.dumps(self._read(slug)))
        return {slug: tuple(json.loads(text)) for slug, text in cached.items()}

    def _read(self, slug: str) -> list[str]:
        try:
            text = (self.wiki.read(slug) or b"").decode("utf-8", "replace")
        except OSError:
            return []
        targets = (link.target for link in markdown.links(text))
        return list(dict.fromkeys(target for target in targets if target and not target.startswith("daily/")))
