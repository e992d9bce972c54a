"""Markdown as HTML that runs nothing and loads nothing.

Raw HTML is shown as text, an image as its description, and a link is kept only if it leads to the web, to a mail
address or to a page of this memory. Wikilinks become links to the pages that they mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import unquote, urlencode

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup as Html
from markupsafe import escape

from memoria.ground import markdown

_WIKILINK = re.compile(r"!?\[\[([^\[\]|#\n]*)(#[^\[\]|\n]*)?(?:\|([^\[\]\n]*))?\]\]")
_WEB = re.compile(r"(?i)(?:https?://|mailto:)")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_SHOWN = re.compile(r"#\^?|/")  # of a link's target that is shown in words

__all__ = ("Html", "Renderer", "Target")  # Html: text that is shown as it is, because it has been escaped

Resolve = Callable[[markdown.Link], "Target | None"]
Marked = Callable[[str], tuple[str, str]]  # from a list item's row to the digest of its claim, and its page


class Target:
    """Where a link leads: its ``path``, what it is called there, and whether it is the ``source`` of a claim."""

    __slots__ = ("is_source", "path", "title")

    def __init__(self, path: str, title: str = "", *, is_source: bool = False) -> None:
        self.path = path
        self.title = title
        self.is_source = is_source


class _Parser(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802 (markdown-it's name)
        """Return whether an address is one of the web, of mail, or of a page."""
        return bool(_WEB.match(url)) or not _SCHEME.match(url.strip())


class Renderer:
    """Turns Markdown into HTML; ``resolve`` says where a link to a page of this memory leads."""

    def __init__(self, resolve: Resolve) -> None:
        self.resolve = resolve
        self._parser = _Parser("commonmark", {"html": False}).enable(["table", "strikethrough"])
        self._parser.inline.ruler.before("link", "wikilink", _wikilink)
        self._parser.add_render_rule("wikilink", _page_link)
        self._parser.add_render_rule("link_open", _link_open)
        self._parser.add_render_rule("image", _image)
        self._parser.add_render_rule("wrong", _render_wrong)
        self._plain = _Parser("commonmark", {"html": False}).disable(["link", "image", "autolink"])

    def blocks(self, rows: Sequence[str], slug: str = "", claim_of: Marked | None = None) -> Html:
        """Return rows of Markdown as HTML.

        List items that are claims of the article ``slug`` get the digests that ``claim_of`` returns, and a link to the
        page on which they can be put right, if it returns one.
        """
        plain = [row if in_code else markdown.BLOCK_ID.sub("", row) for row, in_code in markdown.code_rows(rows)]
        env: dict[str, Any] = {"resolve": self.resolve}
        tokens = self._parser.parse("\n".join(plain), env)
        if claim_of:
            _mark_claims(tokens, plain, slug, claim_of)
        return Html(self._parser.renderer.render(tokens, self._parser.options, env))  # noqa: S704 (escaped by it)

    def words(self, text: str) -> Html:
        """Return one line of Markdown as HTML without links, for a text that is a link itself."""
        return Html(self._plain.renderInline(markdown.BLOCK_ID.sub("", text)))  # noqa: S704 (escaped by it)

    def line(self, text: str) -> Html:
        """Return one line of Markdown as HTML without a paragraph around it."""
        written = self._parser.renderInline(markdown.BLOCK_ID.sub("", text), {"resolve": self.resolve})
        return Html(written)  # noqa: S704 (escaped by it)


def _wikilink(state: StateInline, silent: bool) -> bool:
    match = _WIKILINK.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        token = state.push("wikilink", "", 0)
        token.content = (match[3] or "").strip()
        token.meta = {"target": match[1].strip(), "anchor": (match[2] or "").strip()}
    state.pos = match.end()
    return True


def _page_link(_: RendererHTML, tokens: Sequence[Token], number: int, __: OptionsDict, env: EnvType) -> str:
    token = tokens[number]
    link = markdown.Link(token.meta["target"], token.meta["anchor"], token.content)
    shown = escape(link.shown or _SHOWN.sub(" ", f"{link.target}{link.anchor}").strip())
    target: Target | None = env["resolve"](link)
    if target is None:
        return f'<span class="missing" title="There is no such page">{shown}</span>'
    if not target.is_source:
        return f'<a href="{escape(target.path)}" class="page">{shown}</a>'
    leading = target.path + token.meta.get("query", "")
    return f'<a href="{escape(leading)}" class="source" title="{escape(target.title)}">{shown}</a>'


def _link_open(_: RendererHTML, tokens: Sequence[Token], number: int, __: OptionsDict, env: EnvType) -> str:
    address = str(tokens[number].attrs.get("href", ""))
    if _WEB.match(address):
        return f'<a href="{escape(address)}" class="web" rel="noopener noreferrer nofollow">'
    path, anchor = (*unquote(address).split("#", 1), "")[:2]
    name = path.removesuffix(".md").lstrip("./").removeprefix("knowledge/")
    target: Target | None = env["resolve"](markdown.Link(name, f"#{anchor}" if anchor else "", "")) if name else None
    return f'<a href="{escape(target.path)}" class="page">' if target else "<a>"


def _render_wrong(_: RendererHTML, tokens: Sequence[Token], number: int, __: OptionsDict, ___: EnvType) -> str:
    path = escape(tokens[number].meta["path"])
    return f' <a href="{path}" class="wrong" aria-label="This claim is wrong">Wrong?</a>'


def _image(renderer: RendererHTML, tokens: Sequence[Token], number: int, options: OptionsDict, env: EnvType) -> str:
    shown = renderer.renderInlineAsText(tokens[number].children, options, env)
    return f'<span class="image">{escape(shown) or "image"}</span>'


def _mark_claims(tokens: Sequence[Token], rows: Sequence[str], slug: str, claim_of: Marked) -> None:
    """Give each top-level list item that is a claim its digest, and the links in it as well."""
    claim = path = ""
    for token in tokens:
        if token.type == "list_item_open" and token.level == 1 and token.map:
            claim, path = claim_of(rows[token.map[0]])
            if claim:
                token.attrSet("id", f"c-{claim}")
                token.attrSet("class", "claim")
        if path and token.type == "inline" and token.children is not None:
            token.children.append(Token("wrong", "", 0, meta={"path": path}))
            path = ""
        for child in token.children or ():
            if claim and child.type == "wikilink":
                child.meta["query"] = f"?{urlencode({'of': slug, 'claim': claim})}"
