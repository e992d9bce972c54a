"""Scope: the owner of a memory. An agent's scope contains its projects' scopes, and a project's its sessions'.

A scope's name consists of its kind and id only, so that two agents working on one project share the project's scope.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote, unquote

from memoria.ground.errors import BadScopeError

Kind = Literal["agent", "project", "session"]
KINDS: tuple[Kind, ...] = ("agent", "project", "session")
MAX_ID = 256


@dataclass(frozen=True, slots=True)
class Scope:
    """One scope and the scope that contains it; ``name`` is safe as part of a key in any store."""

    kind: Kind
    id: str
    parent: Scope | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadScopeError(f"a scope must be one of {', '.join(KINDS)}, not {self.kind!r}")
        if not isinstance(self.id, str) or not self.id.strip() or len(self.id) > MAX_ID:
            raise BadScopeError(f"the id of a {self.kind} scope must be text of 1 to {MAX_ID} characters")
        if self.parent is not None and KINDS.index(self.parent.kind) >= KINDS.index(self.kind):
            raise BadScopeError(f"a {self.kind} scope cannot be inside a {self.parent.kind} scope")

    @property
    def name(self) -> str:
        """``<kind>:<id>``, with the id percent-encoded."""
        return f"{self.kind}:{quote(self.id, safe='', errors='surrogatepass')}"

    def outwards(self) -> Iterator[Scope]:
        """Yield this scope, then the scope that contains it, and so on."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


def session_scope(session_id: str, project_id: str | None = None, agent_instance_id: str | None = None) -> Scope:
    """Return a session's scope inside those of its project and its agent, if these are known."""
    outer = Scope("agent", agent_instance_id) if agent_instance_id else None
    if project_id:
        outer = Scope("project", project_id, outer)
    return Scope("session", session_id, outer)


def session_of(name: str) -> str | None:
    """Return the session id in a scope's name, or None for a scope of another kind."""
    kind, _, quoted = name.partition(":")
    return unquote(quoted, errors="surrogatepass") if kind == "session" else None
