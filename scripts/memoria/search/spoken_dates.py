"""Spoken dates: the days that words such as "two weeks ago" or "last Tuesday" name on the day on which they are said.

English, German, French, Spanish, Russian and Chinese. French ``hier`` is left out, since it is a frequent German word.
"""

from __future__ import annotations

from memoria.base.pattern import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

_NUMBERS = {
    word: number
    for number, words in enumerate(
        (
            "a an one ein einem einer einen un une una uno 一", "two zwei deux dos два две 二 两",
            "three drei trois tres три 三", "four vier quatre cuatro четыре 四", "five fünf cinq cinco пять 五",
            "six sechs seis шесть 六", "seven sieben sept siete семь 七", "eight acht huit ocho восемь 八",
            "nine neun neuf nueve девять 九", "ten zehn dix diez десять 十",
        ),
        1,
    )
    for word in words.split()
}  # fmt: skip
_NUMBER = r"(\d{1,3}|" + "|".join(sorted(_NUMBERS, key=len, reverse=True)) + r")"
_AGO = tuple(
    Pattern(r"(?i)" + form.replace("NUMBER", _NUMBER))
    for form in (
        r"\bNUMBER (days?|weeks?|months?) ago\b", r"\bvor NUMBER (tag|woche|monat)(?:e?n)?\b",
        r"\bil y a NUMBER (jour|semaine|mois)s?\b", r"\bhace NUMBER (d[ií]a|semana|mes)(?:e?s)?\b",
        r"\bNUMBER (дн|недел|месяц)\w* назад", r"NUMBER\s*个?(天|周|星期|月)前",
    )
)  # fmt: skip
_UNITS = {"d": 1, "t": 1, "j": 1, "д": 1, "天": 1, "w": 7, "s": 7, "н": 7, "周": 7, "星": 7}  # the others are months
_DAYS = Pattern(
    r"(?i)(?P<d2>\bday before yesterday\b|\bvorgestern\b|\bavant-hier\b|\banteayer\b|позавчера|前天)|"
    r"(?P<d1>\byesterday\b|\bgestern\b|\bayer\b|вчера|昨天)|(?P<d0>\btoday\b|\bheute\b|\baujourd'hui\b|\bhoy\b|сегодня|今天)|"
    r"(?P<week>\blast week\b|\b(?:letzte|vorige)[nr]? woche\b|\bsemaine derni[eè]re\b|\bsemana pasada\b|прошлой неделе|"
    r"上(?:周|星期)(?![一二三四五六日天]))|"
    r"(?P<month>\blast month\b|\b(?:letzte|vorige)[nr] monat\b|\bmois dernier\b|\bmes pasado\b|прошлом месяце|上个月)"
)
_WEEKDAYS = tuple(
    Pattern(
        rf"(?i)\blast {en}\b|\b(?:letzte|vorige)[nr] {de}\b|\b{fr} dernier\b|\b{es} pasado\b|прошл\w+ {ru}|"
        rf"上(?:周|星期){zh}"
    )
    for en, de, fr, es, ru, zh in (
        ("monday", "montag", "lundi", "lunes", "понедельник", "一"),
        ("tuesday", "dienstag", "mardi", "martes", "вторник", "二"),
        ("wednesday", "mittwoch", "mercredi", "mi[eé]rcoles", "сред[уы]", "三"),
        ("thursday", "donnerstag", "jeudi", "jueves", "четверг", "四"),
        ("friday", "freitag", "vendredi", "viernes", "пятниц[уы]", "五"),
        ("saturday", "(?:samstag|sonnabend)", "samedi", "s[aá]bado", "суббот[уы]", "六"),
        ("sunday", "sonntag", "dimanche", "domingo", "воскресенье", "[日天]"),
    )
)


def days(text: str, today: date) -> list[date]:
    """Return the days that a text names in relation to ``today``, each once; a week or month as its days."""
    return sorted({*_ago(text, today), *_named(text, today), *_weekdays(text, today)})


def _ago(text: str, today: date) -> Iterator[date]:
    from datetime import timedelta  # noqa: PLC0415 (only when a text is searched for dates)

    for form in _AGO:
        for match in form.finditer(text):
            number, unit = match.group(1).lower(), match.group(2).lower()
            count = _NUMBERS.get(number) or int(number)
            size = _UNITS.get(unit[0], 0)
            if unit.startswith("mes") or not size:
                yield from _month(today, count)
            else:
                around = range(-3, 4) if size > 1 else (0,)
                yield from (today - timedelta(days=count * size + step) for step in around)


def _named(text: str, today: date) -> Iterator[date]:
    from datetime import timedelta  # noqa: PLC0415

    for match in _DAYS.finditer(text):
        name = str(match.lastgroup)
        if name == "month":
            yield from _month(today, 1)
        elif name == "week":
            yield from (today - timedelta(days=today.weekday() + step) for step in range(1, 8))
        else:
            yield today - timedelta(days=int(name[1]))


def _weekdays(text: str, today: date) -> Iterator[date]:
    from datetime import timedelta  # noqa: PLC0415

    for number, form in enumerate(_WEEKDAYS):
        if form.search(text):
            yield today - timedelta(days=(today.weekday() - number - 1) % 7 + 1)


def _month(today: date, count: int) -> Iterator[date]:
    from datetime import timedelta  # noqa: PLC0415

    months = today.year * 12 + today.month - 1 - count
    if months >= 12:
        day = today.replace(year=months // 12, month=months % 12 + 1, day=1)
        while day.month == months % 12 + 1:
            yield day
            day += timedelta(days=1)
