"""Scope: whose memory it is. An agent's holds its projects', a project's holds its sessions'.

Scopes are named by kind and id alone, so that two agents at work on one project share the project's scope.
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
    """One scope and the one it lies in; ``name`` is safe in a key of any store."""

    kind: Kind
    id: str
    parent: Scope | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadScopeError(f"a scope is one of {', '.join(KINDS)}, not {self.kind!r}")
        if not isinstance(self.id, str) or not self.id.strip() or len(self.id) > MAX_ID:
            raise BadScopeError(f"the id of a {self.kind} scope must be text of 1 to {MAX_ID} characters")
        if self.parent is not None and KINDS.index(self.parent.kind) >= KINDS.index(self.kind):
            raise BadScopeError(f"a {self.kind} scope cannot lie in a {self.parent.kind} scope")

    @property
    def name(self) -> str:
        """``<kind>:<id>``, the id percent-encoded."""
        return f"{self.kind}:{quote(self.id, safe='', errors='surrogatepass')}"

    def outwards(self) -> Iterator[Scope]:
        """This scope, then the one it lies in, and so on."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent


def session_scope(session_id: str, project_id: str | None = None, agent_instance_id: str | None = None) -> Scope:
    """A session's scope inside its project's inside its agent's, those that are known."""
    outer = Scope("agent", agent_instance_id) if agent_instance_id else None
    if project_id:
        outer = Scope("project", project_id, outer)
    return Scope("session", session_id, outer)


def session_of(name: str) -> str | None:
    """The session id in a scope's name, None when it is another kind's."""
    kind, _, quoted = name.partition(":")
    return unquote(quoted, errors="surrogatepass") if kind == "session" else None
