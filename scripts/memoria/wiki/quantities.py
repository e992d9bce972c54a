"""Quantities: whether a text says a number of the same thing as a claim does.

A number alone proves little: an entry about "2 workers" holds the 2 of "version 2". A number of a claim is supported
where the text has it beside one of the words that the claim has it beside, and no other number is closer to that word;
or with the same unit. Numbers that nobody says by chance (``2.4.0``, ``14:05``, ``8080``) need no word. Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from memoria.search.comparison import LIGHT_WORDS
from memoria.search.stemming import porter, singular, without_ending
from memoria.search.words import word_set

NEAR = 7  # tokens between a number and a word that belongs to it
RARE_DIGITS = 4  # digits of a number that is not said by chance
LABELLED_DIGITS = 3  # digits of a number that need not have its label beside it, if the text has no such word
PARAPHRASE, MIN_WORDS = 0.75, 3  # share of the claim's other words that a sentence with the number has

UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"  # letters of scripts without blanks between words and numbers
_SPACED = rf"[^\W_{UNSPACED}]"
_TOKEN = re.compile(
    r"(?P<date>\b\d{4}-\d\d-\d\d\b)"
    rf"|(?P<number>(?<!{_SPACED})\d+(?:[.,:]\d+)*(?!{_SPACED}{{4,}}|{_SPACED}*\d))"
    rf"|(?P<word>{_SPACED}+|[{UNSPACED}]+|\#(?=\d)|(?:(?<=\d)|(?<=\d\s))[%€])"
    r"|(?P<end>[.!?;](?=\s|$)|[。！？；]|\n\s*\n)|(?P<pause>[,()、，–—→]|->)"  # noqa: RUF001 (of such scripts)
)
_LATIN = re.compile(r"[a-zA-ZÀ-ɏ]")
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
        "ноль - два три четыре пять шесть семь восемь девять десять - -",
    )
    for number, word in enumerate(words.split())
    if word not in ("-", "once")
}
_UNITS = {
    spelling: name
    for name, spellings in {
        "second": "s sec secs second seconds sekunde sekunden segundo segundos seconde secondes secondo secondi",
        "millisecond": "ms msec millisecond milliseconds millisekunden мс",
        "minute": "min mins minute minutes minuten minuto minutos minuti",
        "hour": "h hour hours hr hrs stunde stunden heure heures hora horas ore",
        "day": "d day days tag tage tagen jour jours día días giorno giorni",
        "week": "week weeks woche wochen semaine semaines semana semanas settimana settimane",
        "month": "month months monat monate monaten mois mes meses mesi",
        "year": "year years jahr jahre jahren an ans année années año años",
        "percent": "% percent prozent", "euro": "€ eur euro euros",
        "pixel": "px pixel pixels",
        "kilobyte": "kb kib ko", "megabyte": "mb mib mo", "gigabyte": "gb gib go", "terabyte": "tb tib",
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
_OF = word_set("of von de sur di")
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
        self.units = _units(self.tokens, self.places)
        self.wholes = _wholes(self.tokens)
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
        held = [token for token in held if not self._is_of_a_part(token, claim)]
        if not held or any(self._is_translated(token.sentence, claim) for token in held):
            return bool(held)
        if around.label is not None and (self._knows([around.label]) or len(number.text) < LABELLED_DIGITS):
            numbered = [token for token in held if not self._counts(token, around.label, claim)]
            return self.stand_by(numbered, [around.label])
        same_unit = [token for token in held if around.unit and self.units[token.start] == around.unit]
        if same_unit:
            return not self._is_other(same_unit, around.beside) and not self._is_elsewhere(same_unit, around)
        if _is_rare(number.text):
            return not self._is_other(held, around.beside)
        is_unknown = not self._knows(around.beside)
        return self.stand_by(held, around.words) or (
            is_unknown and (self.stand_by(held, around.acronym) or self._paraphrases(held, around, claim))
        )

    def _is_elsewhere(self, held: Collection[Token], around: _Around) -> bool:
        """Return whether the last word before the number that the text has is only in sentences with other numbers."""
        known = next((token for token in around.clause if self._knows([token])), None)
        if known is None or self._knows(around.words):
            return False
        named = {token.sentence for token in self._like(known)}
        return named.isdisjoint(token.sentence for token in held) and named <= self.by_sentence.keys()

    def _is_translated(self, sentence: int, claim: list[Token]) -> bool:
        """Return whether the claim has all numbers of a sentence in another script, in their order.

        No word of such a sentence says what its numbers count.
        """
        stream = [token for token in self.tokens if token.sentence == sentence]
        if _is_latin(stream) or not _is_latin(claim):
            return False
        mine = iter(token for token in claim if token.kind == "number")
        counted = [token for token in stream if token.kind == "number" and token.text != "1"]
        return all(any(token.forms & other.forms for other in mine) for token in counted)

    def _is_of_a_part(self, number: Token, claim: list[Token]) -> bool:
        """Return whether the text says of a part ("38 of 212 tests failed") what the claim says of the whole."""
        part, rest = self.wholes.get(number.start, (None, ()))
        if part is None or any(part.forms & token.forms for token in claim if token.kind == "number"):
            return False
        return any(token.forms & other.forms for token in rest for other in claim if other.kind == "word")

    def _counts(self, number: Token, label: Token, claim: list[Token]) -> bool:
        """Return whether the number counts things that the claim does not name ("two users"), and follows no label."""
        at = self.tokens.index(number)
        before, after = self.tokens[max(at - 1, 0) : at], self.tokens[at + 1 : at + 2]
        if any(token.forms & label.forms for token in before):
            return False
        counted = [token for token in after if token.kind == "word" and token.place - number.place == 1]
        named = {form for token in claim for form in token.forms}
        return any(singular(token.text) != token.text and named.isdisjoint(token.forms) for token in counted)

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
    ``words``: these, and the last word before it that means something. ``acronym``: capitals before that word, as in
    "UTM zone 33". ``clause``: all words up to the pause before it that mean something, the last one first.
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
        in_sentence = (token for token in before if token.sentence == number.sentence and token.kind == "word")
        earlier = [token for token in in_sentence if _is_content(token)]
        self.clause = [token for token in _unbroken(before, number) if _is_content(token)]
        self.acronym = [each for each in before[1:2] if last and len(each.text) > 1 and each.text.isupper()]
        count = 1 if self.label is None else 2  # a label that the text does not have says nothing
        self.words = [*following, *earlier[:count]]


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


def _unbroken(before: Iterable[Token], number: Token) -> Iterator[Token]:
    """Yield the words before a number, the last one first, up to a pause or another number."""
    place = number.place
    for token in before:
        if token.kind != "word" or token.sentence != number.sentence or place - token.place > 1:
            return
        place = token.place
        yield token


def _units(stream: list[Token], places: dict[int, int]) -> dict[int, str]:
    """Return the unit of each number by its start; in "from 14 to 9 minutes" the first has that of the second."""
    units: dict[int, str] = {}
    following: Token | None = None
    for at in reversed(range(len(stream))):
        token = stream[at]
        if token.kind == "number":
            unit = _unit_after(stream, at)
            if not unit and following is not None and places[following.start] == places[token.start]:
                unit = units[following.start]
            units[token.start], following = unit, token
    return units


def _wholes(stream: list[Token]) -> dict[int, tuple[Token, list[Token]]]:
    """Return by its start each number of which a part is named before it, with the part and what is said of that."""
    found: dict[int, tuple[Token, list[Token]]] = {}
    for at, token in enumerate(stream):
        before = [each for each in stream[max(0, at - 3) : at] if each.sentence == token.sentence]
        words = [each.text.casefold() for each in before if each.kind == "word"]
        part = next((each for each in before if each.kind == "number"), None)
        if token.kind == "number" and part and not _OF.isdisjoint(words[-2:]):
            after = [each for each in stream[at + 1 :] if each.sentence == token.sentence and _is_content(each)]
            found[token.start] = part, [each for each in after[1:] if each.kind == "word"]
    return found


def _is_latin(stream: Iterable[Token]) -> bool:
    """Return whether most words are in Latin letters."""
    words = [bool(_LATIN.match(token.text)) for token in stream if token.kind == "word"]
    return 2 * sum(words) > len(words)


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
