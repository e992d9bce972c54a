"""Terms: text as people and code write it, cut into the terms that the search index holds.

A term is lower case, stemmed, without accents, and made of letters and digits only, so that what comes out can be
handed to any tokenizer that splits at blanks. Identifiers (``camelCase``, ``snake_case``, ``a/b.py``, ``v2.1``) give
their parts and themselves written as one word; languages without spaces give pairs of characters. Knows no index.

Part of the hook floor: standard library only, Python 3.9, nothing slow at import.
"""

from __future__ import annotations

from binascii import crc32

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TOKEN = 40  # characters of a term: longer ones are hashes, base64 and minified code
MAX_CHUNK = 200  # characters of an identifier that is still split; beyond, only its start is read
CACHED = 200_000  # chunks whose terms are remembered within a process (a few ten MB)
_JOINERS = "_-./:@+#~'\\"  # what may stand inside an identifier or a word
_UNSPACED = (  # scripts written without spaces (or, for Hangul, with particles glued on): Unicode blocks
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xAC00, 0xD7AF),  # Hangul
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)

# Closed-class words only (articles, pronouns, prepositions, auxiliaries, question words): no language's content words.
_STOP_WORDS_BY_LANGUAGE = (
    # English
    "a about above after again all also am an and any are aren as at be because been before being below between both "
    "but by can cannot could couldn d did didn do does doesn doing don down during each few for from further had hadn "
    "has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself just ll "
    "m me more most my myself no nor not now of off on once only or other our ours ourselves out over own re s same "
    "she should shouldn so some such t than that the their theirs them themselves then there these they this those "
    "through to too under until up us ve very was wasn we were weren what when where which while who whom whose why "
    "will with won would wouldn you your yours yourself yourselves "
    # German
    "aber als am an auch auf aus bei bis das dass dem den der dies diese durch ein eine einem einen einer "
    "eines er es euch fur hatte ich ihm ihn ihr im ist ja kann kein keine mein mich mir mit nach nicht noch nur "
    "oder ohne sein sich sie sind uber um und uns unter vom von vor warum was weil wenn wer wie wir wird wo zu zum "
    "zur "
    # French
    "au aux avec ce ces cette dans de des du elle en est et il ils je la le les leur lui mais mes moi mon ne nos "
    "nous ou par pas pour qu que qui sa sans se ses sont sur ta te tes toi tu un une vos votre vous "
    # Spanish, Portuguese, Italian
    "al como con cual cuando da del della di do dos e el ella en entre esta este esto foi gli ha hay il la las "
    "lo los mas mi muy na nao nei no non nos o para per pero por porque que quien se si sobre sono su sus te "
    "tiene um uma un una uno y ya yo"
)
STOP_WORDS = frozenset(_STOP_WORDS_BY_LANGUAGE.split())

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip


def of(text: str) -> list[str]:
    """The terms of a text to be indexed, in order; stop words are left out."""
    return [term for chunk in _chunks(text) for term in _analysed(chunk)]


def of_day(day: str) -> list[str]:
    """A date (``2026-11-21``) as people ask for it: day, month, year, and all as one; none when it is none."""
    year, _, rest = day.partition("-")
    month, _, number = rest.partition("-")
    if not (year.isdecimal() and month.isdecimal() and number.isdecimal() and 1 <= int(month) <= 12):
        return []
    return [str(int(number)), stem(_MONTHS[int(month) - 1]), year, year + month + number]


def of_query(text: str) -> list[str]:
    """The terms of a query, each once, in order; none when it is all stop words."""
    unique = list(dict.fromkeys(of(text)))
    pairs = [term for term in unique if len(term) > 1 and _is_unspaced(term[0])]
    if not pairs:
        return unique
    covered = set("".join(pairs))  # single characters say nothing that the pairs around them do not
    return [term for term in unique if len(term) > 1 or term not in covered]


def code(term: str) -> int:
    """A number of 32 bits that stands for a term where only equality matters."""
    return crc32(term.encode("utf-8", "replace"))


class _Separators(dict):  # type: ignore[type-arg]
    """A table for ``str.translate``: keeps letters, digits, marks and joiners, makes everything else a blank."""

    def __missing__(self, code: int) -> int:
        character = chr(code)
        keep = character.isalnum() or character in _JOINERS or _is_mark(code)
        self[code] = code if keep else 32
        return code if keep else 32


def _is_mark(code: int) -> bool:
    if code < 0x300:
        return False
    import unicodedata  # noqa: PLC0415 (only for text beyond Latin-1)

    return unicodedata.category(chr(code))[0] == "M"


def _is_unspaced(character: str) -> bool:
    code = ord(character)
    return code >= 0x0E00 and any(low <= code <= high for low, high in _UNSPACED)


_separators = _Separators()
_cache: dict[str, tuple[str, ...]] = {}
_stems: dict[str, str] = {}


def _chunks(text: str) -> list[str]:
    return text.translate(_separators).split()


def _analysed(chunk: str) -> tuple[str, ...]:
    """The terms of one chunk (a run without blanks), remembered."""
    found = _cache.get(chunk)
    if found is None:
        found = tuple(_terms(chunk[:MAX_CHUNK]))
        if len(_cache) >= CACHED:
            _cache.clear()
        _cache[chunk] = found
    return found


def _terms(chunk: str) -> Iterator[str]:
    folded = _fold(chunk) if not chunk.isascii() else chunk
    words = _words(folded)
    for word in words:
        if _is_unspaced(word[0]):
            yield from _pairs(word)
        else:
            lower = word.lower()
            if lower not in STOP_WORDS:
                yield stem(lower)[:MAX_TOKEN]
    if len(words) > 1 and not _apostrophe_only(folded):
        whole = "".join(words).lower()
        if len(whole) <= MAX_TOKEN and not any(_is_unspaced(character) for character in whole):
            yield whole
        if "/" in folded:
            yield from _file_name(folded)


def _apostrophe_only(chunk: str) -> bool:
    """``Anna's`` and ``don't`` are words with a tail, not identifiers."""
    return "'" in chunk and not any(joiner in chunk for joiner in _JOINERS if joiner != "'")


def _file_name(path: str) -> Iterator[str]:
    """The last part of a path written as one word (``scripts/a_b.py`` also gives ``abpy``)."""
    words = _words(path.rstrip("/").rsplit("/", 1)[-1])
    name = "".join(words).lower()
    if len(words) > 1 and len(name) <= MAX_TOKEN:
        yield name


def _fold(text: str) -> str:
    """Compatibility forms unified, accents taken off (but not the marks that Thai or Indic words are made of)."""
    import unicodedata  # noqa: PLC0415 (only for text that is not ASCII)

    decomposed = unicodedata.normalize("NFKD", text.replace("ß", "ss").replace("’", "'"))  # noqa: RUF001
    bare = "".join(character for character in decomposed if not 0x300 <= ord(character) <= 0x36F)
    return unicodedata.normalize("NFC", bare)


def _words(chunk: str) -> list[str]:
    """Split at joiners, at camelCase humps, between letters and digits, and where the way of writing changes."""
    words: list[str] = []
    start, previous = 0, ""
    for position, character in enumerate(chunk):
        kind = _kind(character)
        if previous and _breaks(previous, kind, chunk, position):
            if previous != "-":
                words.append(chunk[start:position])
            start = position
        previous = kind
    if previous and previous != "-":
        words.append(chunk[start:])
    return words


def _breaks(previous: str, kind: str, chunk: str, position: int) -> bool:
    if previous == kind == "A":  # HTTPServer: the last capital starts the next word
        following = chunk[position + 1 : position + 2]
        return bool(following) and _kind(following) == "a" and chunk[position - 1].isupper()
    return previous != kind and (previous, kind) != ("A", "a")


def _kind(character: str) -> str:
    if character.isdigit():
        return "0"
    if _is_unspaced(character):
        return "u"
    if character.isupper():
        return "A"
    return "a" if character.isalnum() or _is_mark(ord(character)) else "-"


def _pairs(run: str) -> Iterator[str]:
    """Each character and each pair of neighbours: a query of two or more characters is found by its pairs."""
    for position, character in enumerate(run):
        yield character
        if position + 1 < len(run):
            yield run[position : position + 2]


def stem(word: str) -> str:
    """The stem of a lower-case word (Porter 1980, as published); words of other alphabets and numbers as they are."""
    found = _stems.get(word)
    if found is None:
        found = _porter(word) if len(word) > 2 and word.isascii() and word.isalpha() else word
        if len(_stems) >= CACHED:
            _stems.clear()
        _stems[word] = found
    return found


def _shape(word: str) -> str:
    """Each letter as ``c`` (consonant) or ``v`` (vowel; ``y`` after a consonant is one)."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == "c")
        shape += "v" if vowel else "c"
    return shape


def _measure(part: str) -> int:
    """Porter's m: how many vowel-consonant sequences the stem holds."""
    return _shape(part).count("vc")


def _ends_short(part: str) -> bool:
    """Porter's *o: the stem ends consonant, vowel, consonant, the last not w, x or y."""
    return _shape(part)[-3:] == "cvc" and part[-1] not in "wxy"


def _doubled(part: str) -> bool:
    return len(part) > 1 and part[-1] == part[-2] and part[-1] not in "aeiou"


_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("abli", "able"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "sion", "tion", "ant", "ent", "ism", "ate", "iti", "ous", "ive",
    "ize", "al", "er", "ic", "ou",
)  # fmt: skip


def _porter(word: str) -> str:
    word = _plural(word)
    word = _participle(word)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(_replaced(word, _STEP_2), _STEP_3)
    return _tidied(_residual(word))


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _participle(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    ending = "ed" if word.endswith("ed") else "ing" if word.endswith("ing") else ""
    part = word[: -len(ending)] if ending else ""
    if "v" not in _shape(part):
        return word
    if part.endswith(("at", "bl", "iz")):
        return part + "e"
    if _doubled(part) and part[-1] not in "lsz":
        return part[:-1]
    return part + "e" if _measure(part) == 1 and _ends_short(part) else part


def _replaced(word: str, endings: tuple[tuple[str, str], ...]) -> str:
    for ending, instead in endings:
        if word.endswith(ending):
            part = word[: -len(ending)]
            return part + instead if _measure(part) > 0 else word
    return word


def _residual(word: str) -> str:
    for ending in _STEP_4:
        if word.endswith(ending):
            part = word[: -len(ending)]
            if ending in ("sion", "tion"):
                part = word[:-3]
            return part if _measure(part) > 1 else word
    return word


def _tidied(word: str) -> str:
    if word.endswith("e"):
        part = word[:-1]
        measure = _measure(part)
        if measure > 1 or (measure == 1 and not _ends_short(part)):
            word = part
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
