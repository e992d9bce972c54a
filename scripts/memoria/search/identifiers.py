"""Identifiers: find the names of code in a text (paths, files, options, ``snake_case``, ``CamelCase``)."""

from __future__ import annotations

from memoria.base.pattern import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SUFFIXES = "py|ts|tsx|js|jsx|go|rs|rb|java|c|h|cpp|md|json|toml|ya?ml|sql|sh|lock|html|css|txt|log|cfg|ini"  # of files
_MARKED = r"`[^`\n]{2,80}`"  # marked as code by the writer
_NAMES = (
    r"(?<![\w/@-])(?!//)(?:"
    r"(?:~|\.{1,2})?/[\w/.-]{0,300}\w|(?<!\.)@?(?:[\w.-]+/){2,}[\w.-]*\w|@[\w.-]+/[\w.-]*\w"  # paths, but not "and/or"
    r"|(?<!\.)[\w-]+(?:/[\w-]+)*/[\w-]*\.\w+"  # paths of two parts, with a suffix
    rf"|[\w-]{{1,80}}\.(?:{_SUFFIXES})\b"  # files
    r"|--[a-z][\w-]*"  # options
    r"|[A-Za-z]\w*_\w+"  # snake_case, CONSTANTS
    r"|[a-z][a-z0-9]*[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*"  # camelCase, CamelCase
    r"|[A-Z]{2,}[a-z]{2,}\w*"  # SQLite
    r")"
)
NAME = Pattern(_NAMES)
_IN_PROSE = Pattern(f"{_MARKED}|{_NAMES}")

# A word of code and, in a lookahead, the arguments that it is called with.
_TOKEN = Pattern(r"([A-Za-z_$~.@/-][\w.~@$/-]*)(?=(\([^()\n]{0,40}\))?)")
_MARKED_SHORT = Pattern(r"`([^`\n]{2,60})`")
_DEFINED = Pattern(
    r"\b(?:class|def(?:p|n-?|macrop?|module|record|protocol|struct|delegate)?|enum|fn|func|function|interface|struct"
    r"|trait|type|module|namespace|mixin|macro|object|protocol)\s+(?:self\.)?([A-Za-z_][\w-]{2,}[?!]?)"
)
_TABLE = Pattern(  # SQL in capitals, as it is written: "from" alone would be an import
    r"\b(?:TABLE|VIEW|INDEX|FROM|JOIN|INTO|UPDATE|REFERENCES|COLUMN|TYPE|SCHEMA|FUNCTION|TRIGGER)\s+"
    r"(?:ONLY\s+|IF\s+(?:NOT\s+)?EXISTS\s+)?[\"`\[]?([A-Za-z_]\w{2,})"
)
# Names that a sign makes: a symbol or an atom (:transcript_dir), a selector (.cta-key, #db-win), a variable of an
# object (@total); not a call in a chain (.map(), nor a colour (#ffcc00).
_SIGNED = Pattern(r"(?<![\w:.)\]}/\"'?&;-])(?:::?|\.|#(?![0-9a-fA-F]{3,8}\b)|@@?)[A-Za-z_][\w-]*[\w?!](?![\w(./\[-])")
# A name with hyphens where code puts it: after an opening bracket or quote, or before a colon, an equals sign or a
# closing bracket; and names that end in a mark. A key brings its short value: "allow_nil?: true", "runs-on: ubuntu".
_HYPHENED = Pattern(r"(?<=[(\['\"])[a-z][\w]*(?:-\w+)+[?!*]?(?=[\s)\]'\"])|(?<![\w-])[a-z]\w*(?:-\w+)+(?==[\"'{])")
_MARKED_NAME = Pattern(r"(?<![\w.])[a-z](?=\w{0,60}_)\w{1,60}[?!](?!=)|(?<![\w.])[a-z]\w{1,60}[?!](?=[(:,)])")
_PAIR = Pattern(
    r"(?<![\w.-])([a-z][a-zA-Z0-9]*(?:[_-][a-zA-Z0-9]+){1,9}[?!]?|[a-z]\w{1,60}[?!]): {1,9}"
    r"(true|false|nil|null|-?\d[\w.]{0,20}|:\w{1,60}|[a-z][\w-]{0,60}(?=[\s,)\]}]))"
)
_TEMPLATE = Pattern(
    r"(?:\{\{-?|<%=?|\{%-?)\s?(?:(?:block|include|extends|if|with)\s)?[\"']?([@.A-Za-z_][\w.@/-]{2,80})"
)

# An inner capital, underscore or dot; a path, an option, a variable.
_TELLING = Pattern(r"(?a)[a-z0-9][A-Z]|[A-Z][A-Z][a-z]|[A-Za-z0-9]_[A-Za-z0-9]|\w\.\w|/\w|^--\w|^\$[A-Z]")


def find_in_prose(text: str) -> list[str]:
    """Return the names that a reader might search for, and the text marked as code; in order, each once."""
    found: dict[str, None] = {}
    for match in _IN_PROSE.finditer(text):
        name = match.group().strip("`").strip()
        if len(name) > 2 and any(character.isalpha() for character in name):
            found[name] = None
    return list(found)


def find_in_code(texts: Iterable[str]) -> list[str]:
    """Return the distinct names in source code and commands, including variables, dotted names and definitions.

    Names in code can look like ordinary words, so the text is read word by word. A name that is called keeps the
    arguments of one call, because summaries write ``load(path)``.
    """
    found: dict[str, str] = {}
    for text in texts:
        tokens = [(match[1], match[2]) for match in _TOKEN.finditer(text)]
        calls = {word: arguments for word, arguments in tokens if arguments}
        defined = _DEFINED.findall(text)
        for token in (*dict(tokens), *_MARKED_SHORT.findall(text)):
            arguments = calls.get(token, "")
            if _is_telling(token) or token in defined or (arguments and token[0].isupper()):
                word = token.rstrip("./-@")
                found.setdefault(word, word + arguments)
        for name in (*defined, *_find_by_sign(text)):
            found.setdefault(name, name)
    return [form for form in found.values() if 3 <= len(form) <= 160]


def _find_by_sign(text: str) -> Iterator[str]:
    """The names that a sign beside them makes, as Elixir, Ruby, Clojure, CSS, SQL, YAML and templates write them."""
    for pair in _PAIR.finditer(text):
        yield f"{pair[1]}: {pair[2]}"
    for pattern in (_SIGNED, _HYPHENED, _MARKED_NAME):
        yield from (match.group() for match in pattern.finditer(text))
    yield from _TABLE.findall(text)
    yield from _TEMPLATE.findall(text)


def _is_telling(token: str) -> bool:
    return _TELLING.search(token.rstrip("./-@")) is not None
