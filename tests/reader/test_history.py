"""A fact and an article of the past: what is put back, and what is left out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from facts import a_fact
from memoria.ground.clock import Zone
from memoria.reader import history
from memoria.wiki.article import Article, Claim

NOON = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
DAY, UTC_ZONE = NOON.date(), Zone("UTC")


def source(ident: str, day: date = DAY) -> str:
    return f"daily/{day}#^e-{ident}"


def page(*claims: Claim) -> Article:
    made = Article.new("concepts/money", "Money", "Money is counted in cents, and rounded late.", DAY)
    for claim in claims:
        made.add(claim)
    return made


def then(article: Article, moment: datetime, known: dict[str, datetime]) -> str:
    return history.article_at(Article(article.slug, article.render()), moment, known, UTC_ZONE)


def test_an_article_holds_the_claims_of_the_entries_that_were_known() -> None:
    made = page(
        Claim("Cents.", (source("a"),)), Claim("Late.", (source("b"),)), Claim("Both.", (source("a"), source("b")))
    )
    known = {"a": NOON, "b": NOON + timedelta(days=2)}
    early = then(made, NOON + timedelta(days=1), known)
    assert "Cents." in early
    assert "Both." in early
    assert "Late." not in early
    assert "e-b" not in early
    assert "rounded late" not in early, "the summary tells of what was not known"
    assert then(made, NOON + timedelta(days=3), known) == made.render()
    assert then(made, NOON, known) == "", "no entry of it was known"


def test_a_claim_that_was_retired_later_stands_in_the_article() -> None:
    old = Claim("Rounded down.", (source("a"),))
    made = page(old, Claim("Cents.", (source("a"),)))
    section, number, _ = next(made.lines())
    made.retire(section, number, "2026-11-20")
    known = {"a": NOON}
    before, after = (then(made, NOON + timedelta(days=days), known) for days in (1, 6))
    assert [claim.text for claim in Article("x", before).claims] == ["Cents.", "Rounded down."]
    assert [claim.text for claim in Article("x", after).claims] == ["Cents."]


def test_a_page_that_a_person_wrote_exists_from_its_day_on() -> None:
    made = page()
    assert then(made, NOON - timedelta(days=1), {}) == ""
    assert then(made, NOON, {}) == made.render()


@pytest.mark.parametrize(("days", "wording"), [(1, "Use tabs."), (3, "Use spaces here."), (9, "Use two spaces.")])
def test_a_fact_has_the_wording_of_its_day(days: int, wording: str) -> None:
    fact = a_fact("Use tabs.").reworded("Use spaces here.", "2026-11-18").reworded("Use two spaces.", "2026-11-21")
    assert history.fact_at(fact, NOON + timedelta(days=days), UTC_ZONE).content == wording


def test_a_fact_holds_until_it_ends_and_was_said_once_before_it_was_said_again() -> None:
    said_again, ended = NOON + timedelta(days=2), NOON + timedelta(days=5)
    fact = replace(a_fact("Use tabs."), seen=2, last=said_again, ended=ended, successor="l-x")
    early, late = (history.fact_at(fact, NOON + timedelta(days=days), UTC_ZONE) for days in (1, 4))
    assert (early.ended, early.successor, early.seen, early.last) == (None, "", 1, None)
    assert (late.ended, late.seen) == (None, 2)
    assert history.fact_at(fact, ended + timedelta(seconds=1), UTC_ZONE) == fact
