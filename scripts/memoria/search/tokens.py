"""Tokens: split prose and code into the terms that the search index holds.

A term is lower case, stemmed, without accents, and consists of letters and digits only, so that any tokenizer that
splits at blanks can process the result. An identifier (``camelCase``, ``snake_case``, ``a/b.py``, ``v2.1``) gives its
parts and the whole as one word. Scripts without spaces give pairs of characters. Knows no index.
"""

from __future__ import annotations

from binascii import crc32

from memoria.search.stemming import porter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TOKEN = 40  # characters of a term; longer ones are hashes, base64 and minified code
MAX_CHUNK = 200  # characters of an identifier that are read; the rest is ignored
CACHED = 200_000  # chunks whose terms are cached within a process (some tens of megabytes)
_JOINERS = "_-./:@+#~'\\"  # characters allowed inside an identifier or a word
_UNSPACED = (  # Unicode blocks of scripts without spaces between words (Hangul: with particles attached)
    ("\u0e00", "\u0eff"),  # Thai, Lao
    ("\u1000", "\u109f"),  # Myanmar
    ("\u1780", "\u17ff"),  # Khmer
    ("\u3040", "\u30ff"),  # Hiragana, Katakana
    ("\u3400", "\u9fff"),  # Han
    ("\uac00", "\ud7af"),  # Hangul
    ("\uf900", "\ufaff"),
    ("\U00020000", "\U000323af"),
)

_MONTHS = {
    "01": "january", "02": "february", "03": "march", "04": "april", "05": "may", "06": "june", "07": "july",
    "08": "august", "09": "september", "10": "october", "11": "november", "12": "december",
}  # fmt: skip


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list separated by blanks or line breaks."""
    return frozenset(text.split())


# Closed-class words only (articles, pronouns, prepositions, auxiliaries, question words), in lower case and without
# accents; no content words.
ENGLISH = word_set(
    """a about above after again all also am an and any are aren as at be because been before being below between both
    but by can cannot could couldn d did didn do does doesn doing don down during each few for from further had
    hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn it its itself
    just ll m me more most my myself no nor not now of off on once only or other our ours ourselves out over own
    re s same she should shouldn so some such t than that the their theirs them themselves then there these they
    this those through to too under until up us ve very was wasn we were weren what when where which while who
    whom whose why will with won would wouldn you your yours yourself yourselves"""
)
GERMAN = word_set(
    """aber als am an auch auf aus bei bis das dass dem den der dies diese durch ein eine einem einen einer eines er es
    euch fur hatte ich ihm ihn ihr im ist ja kann kein keine mein mich mir nach nicht noch nur oder ohne sein
    sich sie sind uber um und uns unter vom von vor warum was weil wenn wer wie wir wird wo zu zum zur"""
)  # without "mit", which is a licence
_ROMANCE = word_set(  # French, Spanish, Portuguese, Italian
    """au aux avec ce ces cette dans de des du elle en est et il ils je la le les leur lui mais mes moi mon ne nos nous
    ou par pas pour qu que qui sa sans se ses sont sur ta te tes toi tu un une vos votre vous al como con cual
    cuando da del della di do dos e el ella en entre esta este esto foi gli ha hay il la las lo los mas mi muy na
    nao nei no non nos o para per pero por porque que quien se si sobre sono su sus te tiene um uma un una uno y
    ya yo"""
)
# Left out of the search index: any text can be searched for, so this holds nothing that could be a content word.
FUNCTION_WORDS = ENGLISH | GERMAN | _ROMANCE


def terms(text: str) -> list[str]:
    """Return the terms of a text to be indexed, in order and without stop words."""
    return [term for chunk in text.translate(_separators).split() for term in _analyse(chunk)]


def day_terms(day: str) -> list[str]:
    """Return the terms by which people ask for an ISO date: day, month, year and all in one; ``[]`` for other text."""
    year, _, rest = day.partition("-")
    month, _, number = rest.partition("-")
    if month not in _MONTHS:
        return []
    return [number.lstrip("0"), porter(_MONTHS[month]), year, year + month + number]


def query_terms(text: str) -> list[str]:
    """Return the terms of a query, each once, in order, of a block id the whole; ``[]`` when nothing names anything."""
    chunks = text.translate(_separators).split()
    unique = list(dict.fromkeys(term for chunk in chunks for term in _query_terms(chunk)))
    pairs = [term for term in unique if len(term) > 1 and _is_unspaced(term[0])]
    if not pairs:
        return unique
    covered = set("".join(pairs))  # single characters add nothing to the pairs that hold them
    return [term for term in unique if term not in covered]


def _query_terms(chunk: str) -> tuple[str, ...]:
    is_id = chunk[:2] == "l-" or (chunk[:2] == "e-" and any(map(str.isdigit, chunk)))  # e-commerce is none
    return _analyse(chunk)[1:][-1:] if is_id else _analyse(chunk)  # the letter before the dash names nothing


def code(term: str) -> int:
    """Return a 32-bit number that represents a term where only equality matters."""
    return crc32(term.encode("utf-8", "replace"))


class _Separators(dict):  # type: ignore[type-arg]
    """A table for ``str.translate`` that keeps letters, digits, marks and joiners, and turns the rest into blanks."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        keep = character.isalnum() or character in _JOINERS or _is_mark(character)
        self[code] = shown = character if keep else " "
        return shown


def _is_mark(character: str) -> bool:
    if character < "\u0300":
        return False
    import unicodedata  # noqa: PLC0415 (only for text beyond Latin-1)

    return unicodedata.category(character).startswith("M")


def _is_unspaced(character: str) -> bool:
    return not character.isascii() and any(low <= character <= high for low, high in _UNSPACED)


_separators = _Separators()
_cache: dict[str, tuple[str, ...]] = {}


def _analyse(chunk: str) -> tuple[str, ...]:
    """Return the terms of one chunk (text without blanks), from the cache if possible."""
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
    if len(words) > 1 and _apostrophe_only(folded):
        words = [word for word in words if len(word) > 1]  # the c of c'est, the s of Anna's
    for word in words:
        if _is_unspaced(word[0]):
            yield from _pairs(word)
        else:
            lower = word.lower()
            if lower not in FUNCTION_WORDS:
                yield porter(lower)[:MAX_TOKEN]
    if len(words) > 1 and not _apostrophe_only(folded):
        whole = "".join(words).lower()
        if len(whole) <= MAX_TOKEN and not any(_is_unspaced(character) for character in whole):
            yield whole
        if "/" in folded:
            yield from _file_name(folded)


def _apostrophe_only(chunk: str) -> bool:
    """Return whether a chunk is a word such as ``Anna's`` or ``don't``, not an identifier."""
    return "'" in chunk and not any(joiner in chunk for joiner in _JOINERS if joiner != "'")


def _file_name(path: str) -> Iterator[str]:
    """Yield the last part of a path as one word: ``abpy`` for ``scripts/a_b.py``."""
    words = _words(path.rstrip("/").rpartition("/")[2])
    name = "".join(words).lower()
    if len(words) > 1 and len(name) <= MAX_TOKEN:
        yield name


def _fold(text: str) -> str:
    """Return text in compatibility form without accents; the vowel marks of Thai and Indic scripts stay."""
    import unicodedata  # noqa: PLC0415 (only for text that is not ASCII)

    decomposed = unicodedata.normalize("NFKD", text.replace("ß", "ss").replace("’", "'"))  # noqa: RUF001
    bare = "".join(character for character in decomposed if not "\u0300" <= character <= "\u036f")
    return unicodedata.normalize("NFC", bare)


def _words(chunk: str) -> list[str]:
    """Split a chunk at joiners, at camelCase humps, between letters and digits, and where the script changes."""
    if chunk.isascii() and chunk.isalpha() and (chunk[1:].islower() or chunk.isupper()):
        return [chunk]  # most words
    words: list[str] = []
    start, previous = 0, "-"
    for position, character in enumerate(chunk):
        kind = _kind(character)
        if _breaks(previous, kind, chunk, position):
            if previous != "-":
                words.append(chunk[start:position])
            start = position
        previous = kind
    if previous != "-":
        words.append(chunk[start:])
    return words


def _breaks(previous: str, kind: str, chunk: str, position: int) -> bool:
    if previous == kind == "A":  # HTTPServer: the last capital starts the next word
        return chunk[position + 1 : position + 2].islower()
    return previous != kind and (previous, kind) != ("A", "a")


def _kind(character: str) -> str:
    if character.isdigit():
        return "0"
    if _is_unspaced(character):
        return "u"
    if character.isupper():
        return "A"
    return "a" if character.isalnum() or _is_mark(character) else "-"


def _pairs(run: str) -> Iterator[str]:
    """Yield each character and each pair of neighbours: longer queries are found by their pairs."""
    for position, character in enumerate(run):
        yield character
        if position + 1 < len(run):
            yield run[position : position + 2]
