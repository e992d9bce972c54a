"""The search finds a word in its other forms, and days as people speak of them."""

from __future__ import annotations

from datetime import date

import pytest

from memoria.search import spoken_dates, tokens
from memoria.search.irregular_forms import word_of

FRIDAY = date(2026, 11, 20)


@pytest.mark.parametrize(
    ("one", "other"),
    [("we met Paula", "to meet Paula"), ("it was lost", "lose"), ("the children", "a child"), ("indices", "index"),
     ("die Rechnungen", "eine Rechnung"), ("Migrationen", "Migration"), ("die Tabellen", "Tabelle"),
     ("geschrieben", "schreiben"), ("es ging", "gehen"), ("les journaux", "journal"), ("écrit", "écrire"),
     ("las versiones", "versión"), ("escrito", "escribir"), ("hizo", "hacer"), ("таблицу", "таблицы"),
     ("на складе", "склад"), ("испорченный", "испорченные"), ("добавляет", "добавлять"),
     ("подключи", "подключить"), ("возможности", "возможность")],
)  # fmt: skip
def test_a_word_is_found_in_another_form(one: str, other: str) -> None:
    assert set(tokens.of(one)) & set(tokens.of(other))


@pytest.mark.parametrize(
    ("one", "other"), [("left", "leave"), ("ground", "grind"), ("LED", "lead"), ("sale", "salir"), ("half", "helfen"),
                       ("open", "op"), ("token", "toke"), ("лес", "лето")]
)  # fmt: skip
def test_words_that_only_look_alike_stay_apart(one: str, other: str) -> None:
    assert not set(tokens.of(one)) & set(tokens.of(other))


def test_no_irregular_form_leads_to_another_irregular_form() -> None:
    word_of("")
    from memoria.search import irregular_forms  # noqa: PLC0415 (filled by the first call)

    assert len(irregular_forms._forms) > 400
    assert not set(irregular_forms._forms) & set(irregular_forms._forms.values())


@pytest.mark.parametrize(
    ("said", "first", "last"),
    [("what broke yesterday?", 19, 19), ("two days ago", 18, 18), ("3 days ago", 17, 17), ("last Tuesday", 17, 17),
     ("last Friday", 13, 13), ("last week", 9, 15), ("two weeks ago", 3, 9), ("vorgestern", 18, 18),
     ("vor zwei Wochen", 3, 9), ("vor drei Tagen", 17, 17), ("letzten Dienstag", 17, 17), ("anteayer", 18, 18),
     ("hace dos semanas", 3, 9), ("el martes pasado", 17, 17), ("il y a deux jours", 18, 18), ("mardi dernier", 17, 17),
     ("две недели назад", 3, 9), ("позавчера", 18, 18), ("三天前", 17, 17), ("上周", 9, 15), ("上周二", 17, 17)],
)  # fmt: skip
def test_a_spoken_date_is_understood_by_the_day_it_is_said_on(said: str, first: int, last: int) -> None:
    assert spoken_dates.days(said, FRIDAY) == [date(2026, 11, day) for day in range(first, last + 1)]


@pytest.mark.parametrize(
    "said",
    ["last month", "letzten Monat", "vor einem Monat", "le mois dernier", "hace un mes", "上个月"],
)
def test_a_month_is_all_its_days(said: str) -> None:
    assert spoken_dates.days(said, FRIDAY) == [date(2026, 10, day) for day in range(1, 32)]


@pytest.mark.parametrize("said", ["", "the last test", "hier ist es", "ago", "999 months ago", "2 days", "\ud800"])
def test_other_words_name_no_day(said: str) -> None:
    assert all(day.year < 1950 for day in spoken_dates.days(said, FRIDAY))
