"""Quantities: whether a text says a number of the same thing as a claim does.

A number alone proves little: an entry about "2 workers" holds the 2 of "version 2". A number of a claim is supported
where the text has it beside one of the words that the claim has it beside, and no other number is closer to that word;
or with the same unit. Numbers that nobody says by chance (``2.4.0``, ``14:05``, ``8080``) need no word. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from memoria.language.function_words import word_set
from memoria.language.stemming import porter, without_ending
from memoria.language.stop_words import LIGHT_WORDS

NEAR = 7  # tokens between a number and a word that belongs to it
RARE_DIGITS = 4  # digits of a number that is not said by chance
LABELLED_DIGITS = 3  # digits of a number that need not have its label beside it, if the text has no such word
PARAPHRASE, MIN_WORDS = 0.75, 3  # share of the claim's other words that a sentence with the number has

_TOKEN = re.compile(
    r"(?P<date>\b\d{4}-\d\d-\d\d\b)"
    r"|(?P<number>(?<![^\W_])\d+(?:[.,:]\d+)*(?![^\W_]{4,}|[^\W_]*\d))"
    r"|(?P<word>[^\W_]+|\#(?=\d))|(?P<end>[.!?;](?=\s|$)|\n\s*\n)|(?P<pause>[,()–—→]|->)"  # noqa: RUF001 (dashes)
)
_WORD_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_THOUSANDS = re.compile(r"\d{1,3}(?:[.,]\d{3})+")
_NUMBER_WORDS = {
    word: str(number)
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "null - zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
        "- - deux trois quatre cinq six sept huit neuf dix onze douze",
        "cero - dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "- - twice thrice - - - - - - - - -",
        "- einmal zweimal dreimal viermal fünfmal - - - - - - -",
        "- - both - - - - - - - - - -",
    )
    for number, word in enumerate(words.split())
    if word not in ("-", "once")
}
_UNITS = {
    spelling: name
    for name, spellings in {
        "second": "s sec secs second seconds sekunde sekunden segundo segundos seconde secondes",
        "millisecond": "ms msec millisecond milliseconds millisekunden мс",
        "minute": "min mins minute minutes minuten minuto minutos",
        "hour": "h hour hours hr hrs stunde stunden heure heures hora horas",
        "day": "d day days tag tage tagen jour jours día días",
        "week": "week weeks woche wochen semaine semaines semana semanas",
        "month": "month months monat monate monaten mois mes meses",
        "year": "year years jahr jahre jahren an ans année années año años",
        "percent": "% percent prozent",
        "pixel": "px pixel pixels",
        "kilobyte": "kb kib", "megabyte": "mb mib", "gigabyte": "gb gib", "terabyte": "tb tib",
        "times": "x times time mal fois veces", "byte": "byte bytes", "bit": "bit bits",
    }.items()
    for spelling in spellings.split()
}  # fmt: skip
# What a number that follows belongs to: "version 2" is no "2".
_LABELS = word_set(
    """version v release port ports worker step phase stage level line page issue pr ticket chapter section option
    number no nr nummer rule task part status code exit python node api http schritt stufe zeile seite kapitel teil
    regel puerto versión línea página étape ligne palier"""
)
_NUMBERED = frozenset(("#", "issue", "pr", "ticket", "task", "number"))  # what "#42" may be
# What a thing does with any number: these say nothing about which thing it is.
_MEASURING = word_set(
    """take takes took taken last lasts lasted need needs needed require requires required cost costs reach reaches
    reached become becomes became stay stays stayed dauert dauern dauerte braucht brauchen brauchte kostet kostete prend
    prennent dure durent tarda tardan dura duran"""
)
_AND = frozenset(("and", "or", "but", "und", "oder", "aber", "et", "ou", "y", "o"))
_BOTH = word_set("from to auf von bis until instead of over than de a à statt vs or and oder und")


@dataclass(frozen=True, slots=True)
class Token:
    """A word, number or pause: its place in distance, its sentence, and where it stands in the text."""

    text: str
    kind: str
    place: int
    sentence: int
    start: int
    forms: frozenset[str] = field(default_factory=frozenset)


def tokens(text: str) -> list[Token]:
    """Return the tokens of a text; a pause makes a distance longer, and the parts of a name are words of one place."""
    found: list[Token] = []
    place = sentence = end = 0
    plain = text.replace("`", " ")
    for match in _TOKEN.finditer(plain):
        kind, word = str(match.lastgroup), match[0]
        in_name = (
            kind == "word" and bool(found) and found[-1].kind == "word" and plain[end : match.start()].strip() != ""
        )
        in_name = in_name and not any(sign.isspace() for sign in plain[end : match.start()])
        end = match.end()
        if kind == "end":
            sentence += 1
            continue
        place += 1 + (kind == "pause") - in_name
        if kind == "pause":
            continue
        if kind == "word" and word.casefold() in _NUMBER_WORDS:
            kind, word = "number", _NUMBER_WORDS[word.casefold()]
        forms = values(word) if kind == "number" else _stems(word)
        found.append(Token(word, kind, place, sentence, match.start(), forms))
    return found


def values(number: str) -> frozenset[str]:
    """Return what a number may mean: separators of thousands are left out, a decimal comma is a point."""
    plain = number.replace(",", ".") if ":" not in number else number
    if _THOUSANDS.fullmatch(number):
        return frozenset((plain, re.sub(r"[.,]", "", number)))
    return frozenset((plain,))


def _stems(word: str) -> frozenset[str]:
    if word == "#":
        return _NUMBERED
    parts = [word, *_WORD_PARTS.split(word)]
    lower = {part.casefold() for part in parts}
    return frozenset(stem for part in lower for stem in (part, porter(part), without_ending(part)))


class Evidence:
    """A text whose numbers can be asked for."""

    def __init__(self, text: str) -> None:
        self.tokens = tokens(text)
        self.numbers = [token for token in self.tokens if token.kind == "number"]
        self.dates = {token.text for token in self.tokens if token.kind == "date"}
        self.places = _joined_places(self.tokens)
        self.units = {
            token.start: _unit_after(self.tokens, at) for at, token in enumerate(self.tokens) if token.kind == "number"
        }
        self.by_sentence: dict[int, list[Token]] = {}
        self.by_form: dict[str, list[Token]] = {}
        for token in self.tokens:
            if token.kind == "number":
                self.by_sentence.setdefault(token.sentence, []).append(token)
            for form in token.forms if token.kind == "word" else ():
                self.by_form.setdefault(form, []).append(token)

    def says(self, number: Token, claim: list[Token]) -> bool:
        """Return whether the text has a ``number`` of the ``claim`` of the same thing."""
        if any(number.text == day[:4] for day in self.dates):
            return True
        around = _Around(claim, number)
        held = [token for token in self.numbers if token.forms & number.forms and self._fits_unit(token, around)]
        if not held:
            return False
        if around.label is not None and (self._knows([around.label]) or len(number.text) < LABELLED_DIGITS):
            return self.stand_by(held, [around.label])
        same_unit = [token for token in held if around.unit and self.units[token.start] == around.unit]
        held = same_unit or held
        if same_unit or _is_rare(number.text):
            return not self._is_other(held, around.beside)
        is_unknown = not self._knows(around.beside)
        return self.stand_by(held, around.words) or (is_unknown and self._paraphrases(held, around, claim))

    def stand_by(self, held: Collection[Token], words: Iterable[Token]) -> bool:
        """Return whether one of these numbers is the closest to one of these words."""
        return any(self._closest(token, word) for word in words for token in held)

    def _closest(self, number: Token, word: Token) -> bool:
        for other in self._like(word):
            distance = self._distance(number, other)
            if other.sentence != number.sentence or distance > NEAR:
                continue
            if all(self._distance(rival, other) >= distance for rival in self.by_sentence[number.sentence]):
                return True
        return False

    def _like(self, word: Token) -> Iterator[Token]:
        """Yield the words of the text that are forms of this one."""
        for form in word.forms:
            yield from self.by_form.get(form, ())

    def _distance(self, number: Token, word: Token) -> float:
        """Return how far apart they are; a number belongs to the word after it rather than to the word before it."""
        place = self.places[number.start]
        return word.place - place if word.place > place else place - word.place + 0.5

    def _is_other(self, held: Collection[Token], words: Collection[Token]) -> bool:
        """Return whether the text has one of these words, and only beside other numbers with the same unit."""
        known = [word for word in words if word.text.casefold() not in _MEASURING and self._knows([word])]
        units, places = {self.units[token.start] for token in held}, {token.start for token in held}
        rivals = [token for token in self.numbers if token.start not in places and self.units[token.start] in units]
        return any(self.stand_by(rivals, [word]) and not self.stand_by(held, [word]) for word in known)

    def _knows(self, words: Iterable[Token]) -> bool:
        return any(form in self.by_form for word in words for form in word.forms)

    def _fits_unit(self, number: Token, around: _Around) -> bool:
        """Return whether the number has the claim's unit, or none, which the claim may have filled in."""
        mine = self.units[number.start]
        return not around.unit or mine == around.unit or not mine

    def _paraphrases(self, held: Iterable[Token], around: _Around, claim: list[Token]) -> bool:
        """Return whether a sentence with the number has nearly all other words of the claim."""
        beside = [token.start for token in around.beside]
        rest = [token for token in claim if token.kind == "word" and _is_content(token) and token.start not in beside]
        if len(rest) < MIN_WORDS:
            return False
        for number in held:
            said = frozenset().union(*(token.forms for token in self.tokens if token.sentence == number.sentence))
            if sum(bool(token.forms & said) for token in rest) >= PARAPHRASE * len(rest):
                return True
        return False


class _Around:
    """What stands around a number of a claim.

    ``label``: the word that it numbers. ``unit``: its unit's name. ``beside``: the words directly before and after it.
    ``words``: these, and the last word before it that means something.
    """

    def __init__(self, claim: list[Token], number: Token) -> None:
        at = claim.index(number)
        before, after = claim[:at][::-1], claim[at + 1 :]
        self.unit = _unit_after(claim, at)
        after = after[1:] if self.unit and after else after
        last = before[0] if before and number.place - before[0].place == 1 else None
        self.label = last if last is not None and not self.unit and _is_label(last) else None
        following = list(_run(after, number))
        self.beside = following[:1] + [last for last in [last] if last and last.kind == "word" and _is_content(last)]
        earlier = (token for token in before if token.sentence == number.sentence and token.kind == "word")
        count = 1 if self.label is None else 2  # a label that the text does not have says nothing
        self.words = [*following, *([token for token in earlier if _is_content(token)][:count])]


def _run(after: Iterable[Token], number: Token) -> Iterator[Token]:
    """Yield up to two words that mean something after a number, up to a pause or another number."""
    place, count = number.place, 0
    for token in after:
        is_over = token.kind != "word" or token.sentence != number.sentence or token.place - place > 2 or count == 2
        if is_over or token.text.casefold() in _AND:
            return
        place = token.place
        if _is_content(token):
            count += 1
            yield token


def _unit_after(stream: list[Token], at: int) -> str:
    following = stream[at + 1 : at + 2]
    if following and following[0].place - stream[at].place == 1:
        return _UNITS.get(following[0].text.casefold(), "")
    return ""


def _is_content(token: Token) -> bool:
    return token.text.casefold() not in LIGHT_WORDS and token.text.casefold() not in _BOTH


def _is_label(token: Token) -> bool:
    if token.kind != "word" or not _is_content(token):
        return token.text.casefold() in _LABELS
    return (
        token.text == "#"
        or token.text.casefold() in _LABELS
        or token.text[:1].isupper()
        or any(sign.isdigit() for sign in token.text)
    )


def _is_rare(number: str) -> bool:
    return sum(sign.isdigit() for sign in number) >= RARE_DIGITS or any(sign in number for sign in ".:")


def _joined_places(stream: list[Token]) -> dict[int, int]:
    """Return the place of each number by its start; in "from 5 to 20" the second has that of the first."""
    places: dict[int, int] = {}
    last: Token | None = None
    between = 0
    for token in stream:
        if token.kind == "number":
            joined = last is not None and between and token.place - last.place <= between + 1
            places[token.start] = places[last.start] if joined and last is not None else token.place
            last, between = token, 0
        elif token.text.casefold() in ("to", "auf", "à", "bis", "instead", "of") or _UNITS.get(token.text.casefold()):
            between += 1
        else:
            last = None
    return places
