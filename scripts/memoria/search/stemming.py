"""Stemming: ways to reduce the forms of a word to one, from the lightest to the strongest."""

from __future__ import annotations

_ENDINGS = (
    "ization", "ations", "ation", "ments", "ment", "ness", "ings", "ing", "ungen", "ung", "edly", "ies", "ied", "ers",
    "ern", "ed", "er", "es", "en", "em", "ly", "e", "s",
)  # fmt: skip


def strip_ending(word: str) -> str:
    """Return the word without one common English or German ending; at least three letters remain.

    For comparing two statements in either language, where a false match would lose a fact.
    """
    if not word.isalpha():
        return word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not (ending == "s" and word.endswith("ss")):
            word = word[: -len(ending)]
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls" else word


def porter(word: str) -> str:
    """Return the stem of a lower-case word (Porter 1980, as published); other alphabets and numbers stay as they are.

    It covers English only and is aggressive: ``general`` and ``generate`` share a stem. That helps a search, but must
    not decide whether two facts are the same.
    """
    return _porter(word) if len(word) > 2 and word.isascii() and word.isalpha() else word


def _shape(word: str) -> str:
    """Return ``c`` for each consonant and ``v`` for each vowel; ``y`` after a consonant is a vowel."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == "c")
        shape += "v" if vowel else "c"
    return shape


def _measure(part: str) -> int:
    """Return Porter's m, the number of vowel-consonant sequences in the stem."""
    return _shape(part).count("vc")


def _ends_short(part: str) -> bool:
    """Return Porter's *o: whether the stem ends in consonant, vowel, consonant, the last not w, x or y."""
    return _shape(part)[-3:] == "cvc" and part[-1] not in "wxy"


_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"), ("abli", "able"),
    ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"), ("ization", "ize"), ("ation", "ate"),
    ("ator", "ate"), ("alism", "al"), ("iveness", "ive"), ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"),
    ("iviti", "ive"), ("biliti", "ble"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"), ("ful", ""), ("ness", ""),
)  # fmt: skip
_ENDINGS_2, _ENDINGS_3 = tuple(ending for ending, _ in _STEP_2), tuple(ending for ending, _ in _STEP_3)
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "sion", "tion", "ant", "ent", "ism", "ate", "iti", "ous", "ive",
    "ize", "al", "er", "ic", "ou",
)  # fmt: skip


def _porter(word: str) -> str:
    word = _strip_plural(word)
    word = _participle(word)
    if word.endswith("y") and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(_replace(word, _STEP_2, _ENDINGS_2), _STEP_3, _ENDINGS_3)
    return _tidy(_strip_residual(word))


def _strip_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _participle(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    ending = "ed" if word.endswith("ed") else "ing" if word.endswith("ing") else ""
    part = word[: -len(ending)] if ending else ""
    if not part or "v" not in _shape(part):
        return word
    if part.endswith(("at", "bl", "iz")):
        return part + "e"
    if part[-2:-1] == part[-1] and part[-1] not in "aeioulsz":
        return part[:-1]
    return part + "e" if _measure(part) == 1 and _ends_short(part) else part


def _replace(word: str, endings: tuple[tuple[str, str], ...], any_of_them: tuple[str, ...]) -> str:
    if not word.endswith(any_of_them):  # most words, in one step
        return word
    ending, instead = next(each for each in endings if word.endswith(each[0]))
    part = word[: -len(ending)]
    return part + instead if _measure(part) > 0 else word


def _strip_residual(word: str) -> str:
    if not word.endswith(_STEP_4):
        return word
    ending = next(filter(word.endswith, _STEP_4))
    part = word[: -3 if ending in ("sion", "tion") else -len(ending)]
    return part if _measure(part) > 1 else word


def _tidy(word: str) -> str:
    if word.endswith("e"):
        part = word[:-1]
        measure = _measure(part)
        if measure > 1 or (measure == 1 and not _ends_short(part)):
            word = part
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
