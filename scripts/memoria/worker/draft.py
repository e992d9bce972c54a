"""Draft: what resolutions change in the wiki and which facts they end, before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from memoria.ground import clock
from memoria.statements.fact import GLOBAL, Ending, Fact
from memoria.statements.keeper import Keeper
from memoria.statements.past import Past
from memoria.wiki import outdated, summary
from memoria.wiki.article import Article, Claim
from memoria.wiki.article_cache import Row
from memoria.wiki.folder import Wiki
from memoria.wiki.transaction import End, digest
from memoria.worker.candidates import Statement
from memoria.worker.verdicts import Resolution


@dataclass(slots=True)
class Draft:
    """The ``changed`` articles, the digests of the articles that were ``read``, and the facts that end (``ends``).

    ``applied``: the resolutions whose statements are still as they were when the model was asked.
    """

    wiki: Wiki
    keeper: Keeper
    rows: dict[str, Row]
    changed: dict[str, Article] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)
    ends: list[End] = field(default_factory=list)
    applied: list[Resolution] = field(default_factory=list)
    _articles: dict[str, Article | None] = field(default_factory=dict)

    def take(self, resolutions: Iterable[Resolution]) -> None:
        """Apply resolutions; leave out those of statements that a person or a later session has changed."""
        self.applied = [each for each in resolutions if self._stands(each.loser) and self._stands(each.winner)]
        past = []
        for resolution in self.applied:
            loser = resolution.loser
            if loser.fact:
                self._end(resolution, loser.fact)
            elif loser.claim and (article := self._article(loser.slug)):
                self._move(resolution, loser.claim, article)
            if not resolution.repetition:
                past.append(self._past(resolution))
        self._take_out(past)

    def _stands(self, statement: Statement) -> bool:
        """Return whether a statement is as it was: current, in the same words and, if a fact, not said again."""
        if statement.fact:
            return self.keeper.store.get(statement.fact.id) == statement.fact
        article = self._article(statement.slug)
        return article is not None and statement.claim in article.claims

    def _article(self, slug: str) -> Article | None:
        if slug not in self._articles:
            data = self.wiki.read(slug)
            self.read[f"{slug}.md"] = digest(data)
            try:
                self._articles[slug] = None if data is None else self.wiki.parse(slug, data)
            except ValueError:  # a person is changing its frontmatter
                self._articles[slug] = None
        return self._articles[slug]

    def _end(self, resolution: Resolution, fact: Fact) -> None:
        winner = resolution.winner
        ending = Ending(
            fact.id, self._moment(resolution), resolution.origin, self._successor(winner), winner.text,
            resolution.repetition,
        )  # fmt: skip
        self.ends.append(ending.to_dict() | {"content": fact.content, "why": resolution.why})

    def _moment(self, resolution: Resolution) -> datetime:
        """Return when the loser ceased to hold: when the winner was said, but not before the loser was."""
        zone = self.keeper.zone
        began = clock.parse(resolution.moment.began)
        local = began.replace(tzinfo=zone.zone).astimezone(UTC) if began else clock.now()
        fact = resolution.loser.fact
        earliest = [fact.last or fact.time] if fact else []
        return max([resolution.moment.time or local, *earliest])

    @staticmethod
    def _successor(winner: Statement) -> str:
        """Return the id of the fact that stays, or of the newest entry that the claim cites."""
        if winner.fact:
            return winner.fact.id
        return max(winner.sources).rpartition("^")[2] if winner.sources else ""

    def _move(self, resolution: Resolution, claim: Claim, article: Article) -> None:
        """Move the claim that ends to its page's history, with what holds as the reason."""
        loser, winner = resolution.loser, resolution.winner
        sources = winner.claim.sources if winner.claim else self._sources(winner)
        text = f"said again as “{winner.text}”" if resolution.repetition else winner.text
        article.supersede(claim, max(loser.day, winner.day), Claim(text, sources))
        kept, stale = summary.divided(article.summary, article)
        if stale and not resolution.repetition:
            article.summarise(kept or summary.plain(article), is_own=article.wrote_summary or not kept)
        self.changed[loser.slug] = article

    def _past(self, resolution: Resolution) -> Past:
        loser, winner = resolution.loser, resolution.winner
        day = max(loser.day, winner.day)
        if loser.fact:
            day = self.keeper.zone.day(self._moment(resolution)).isoformat()
        places = loser.fact.projects if loser.fact else ("" if loser.scope == GLOBAL else loser.scope,)
        return Past(loser.text, day, winner.text, places, self._sources(loser))

    def _sources(self, statement: Statement) -> tuple[str, ...]:
        if statement.claim:
            return statement.claim.sources
        return self.keeper.sources(statement.fact) if statement.fact else ()

    def _take_out(self, past: Sequence[Past]) -> None:
        """Take what no longer holds out of every page that may tell it."""
        for slug, row in self.rows.items():
            mine = [each for each in past if row.project in ("", *each.projects) or GLOBAL in each.projects]
            article = self._article(slug) if mine and row.readable else None
            if article and outdated.take_out(article, mine):
                self.changed[slug] = article
