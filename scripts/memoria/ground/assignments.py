"""Assignments: find secrets that can be recognised only by the words before them.

Covers assignments (environment, YAML, JSON, code, command line flags, connection strings, prose such as "the password
is …"), authorization headers, cookies, and passwords in URLs. A word alone is not enough: the value must look like a
secret, and not like code, a placeholder, a label or a count. How strict this check is depends on the word and the form.
Knows words and values; does not know marks or the formats of services' keys.

Takes linear time: values are read up to a limit, and no repetition is nested.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

Span = tuple[int, int, str]

# Searched in the lower-cased text (same offsets): case-insensitive matching would take ten times as long. The pattern
# begins with plain literals; the text before ``key`` and ``sig`` is examined only where one was found.
_WORD = re.compile(
    r"(passw(?:or)?d|passwort|passphrase|passcode|pass|pwd|pw|psk|secret|token|key|credential|auth(?!0)|seed|salt|pepper|sessid|jsessionid|sig(?:nature)?(?==))"
    r"([a-z0-9_-]{0,40})"
)
_WHOSE_KEY = re.compile(
    r"(?:api|access|account|auth|encryption|signing|master|private|license|service|shared|storage|app|jwt)[_ .-]?$"
)
_WHOSE = re.compile(r"[a-z0-9][_.-]?$")  # any other name of a key, whose value must look random
_WHOSE_NO_SECRET = re.compile(
    r"(?:public|pub|publishable|recv|cache|primary|foreign|sort|partition|index|object|dedup|idempotency|host)[_.-]?$"
)
_KEY_LETTERS = re.compile(r"[\w+/=-]+$")
_ASSIGN = re.compile(
    r"""(?:\\{0,2}["'`*]){0,3}\]?[ \t]{0,4}"""
    r"""(?::[ \t]?[\w.|\[\] ]{2,20}[ \t]?=(?!=)|=>|:=|={1,3}|:(?!:)|\|(?!\|)"""
    r"""|(?:\|\|=?|\?\?=?|[ \t]or)(?=[ \t]{0,4}["'`]))"""
    r"""[ \t]{0,8}(?:\\{0,2}["'`*]{2}[ \t]{0,2})?(?:\r?\n[ \t]{0,40}(?=\\{0,2}["']))?"""
)
_ATTRIBUTE = re.compile(r"""\\{0,2}["'][ \t]{1,4}value[ \t]{0,2}=[ \t]{0,2}(?=\\{0,2}["'])""")
# A name and its value as two fields: ``- name: API_TOKEN`` and ``value: …`` (containers), ``{"name": …, "value": …}``.
_PAIRED = re.compile(
    r"""\\{0,2}["']?,?[ \t]{0,4}(?:\r?\n[ \t]{0,40})?\\{0,2}["']?value\\{0,2}["']?[ \t]{0,2}:[ \t]{0,4}"""
)
# The default of a lookup in the environment: ``os.environ.get("JWT_SECRET", "…")``.
_FALLBACK = re.compile(r"""["'],[ \t]{0,4}(?:default[ \t]?=[ \t]?)?(?=["'])""")
_ASKED = re.compile(r"""(?:get|env|config|setting|fetch)\(["'][\w.-]{0,40}$""", re.IGNORECASE)
_CALLED = re.compile(r"\((?=[\"'])")  # ``set_api_key("…")``
_ELEMENT = re.compile(r">(?=[^<>\s]{4,300}</)")
_FLAG = re.compile(r"(?:^|\s)-[^\s=]{0,40}$")
_NETRC = re.compile(r"login[ \t]{1,4}\S{1,60}\s{1,40}\Z")
_TAG = re.compile(r"<[\w:.-]{0,40}$")
_SPACE = re.compile(r"[ \t]{1,4}(?![-&|<>;)])")
_SAID = re.compile(
    r"[ \t]{1,3}(?:(?:is|was|ist|has been)(?:[ \t](?:now|changed to|set to|reset to))?|to|=)[ \t]{0,2}:?[ \t]{1,3}"
)
# A value on a line of its own, as a program prints it.
_BELOW = re.compile(r"""["'`:]{0,2}[ \t]{0,3}\r?\n[ \t]{0,8}(?=[^\s"'`]{16,200}[ \t]{0,3}(?:\r?\n|\Z))""")
_BESIDE = re.compile(r"""[ \t]{1,2}(?=["'`])""")
_BESIDE_PASSWORD = re.compile(r"""[ \t]{1,2}(?=["'`]?[^\s"'`]{0,30}\d)""")
_OPENING = re.compile(r"""(?:(?:\[\]byte\(|[bru@]{0,2})(?=["']))?\\{0,2}["'`]""")
_SCHEME = re.compile(r"[\"']?(?:bearer|basic|token|digest|apikey|api-key)[ \t]+", re.IGNORECASE)
# "&" ends a value only where another name follows, as in a URL.
_BARE = re.compile(r"""(?:\\(?![nrt"'`\\])|&(?![\w.\[\]-]{1,40}=)|[^\s"'`<>,;&\\]){1,160}""")
_BARE_ENV = re.compile(r"""(?:\\(?![nrt"'`\\])|[^\s"'`\\]){1,160}""")
_JUDGED = 160  # characters of an unquoted value that are examined; the rest of a secret is redacted with them
_REST = re.compile(r"""[^\s"'`<>,;&\\]*""")

# An identifier that continues with one of these words names something about the secret, not the secret itself.
_ABOUT = re.compile(
    r"id(?:s|entifier)?(?:[_-]|$)|name|length|count|size|type|kind|field|input|policy|polic|file|path|dir|url|uri"
    r"|endpoint|limit|usage|budget|manager|provider|expir|ttl|timeout|header|prefix|suffix|ref|regex|pattern|error|label"
    r"|placeholder|arn|hash|algo|format|valid|strength|require|enabled|disabled|version|status|scope|schema|store|rule"
    r"|config|option|param|callback|handler|function|class|service|client_?id|method|mode|state|reset|rotat|scan|detect"
    r"|encryption|index|column|env|var|holder|tracker|used|per|cost|price|max|min|total|word|ize|izing"
)
_PLACEHOLDER = re.compile(
    r"\[redacted:|[&*!][A-Za-z_-]+$|[$%#<{(]|\*{3}|\.{3}|…|x{4,}|y{4,}|0{6,}$|your|my[_-]|our[_-]|insert|replace|change[_-]?(?:me|it|this)"
    r"|example|dummy|fake|placeholder|redacted|todo|tbd|none$|null|nil$|true|false|undefined|process\.env|os\.environ"
    r"|import\.meta|env\.|secrets?\.|vars?\.|self\.|this\.|config\.|settings\.|props\.|req\.|str$|string|bytes$|int$"
    r"|optional|any$|boolean|number|required|missing|empty|invalid|unset|await$|new$|async$|function|return",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"\b(?:enter|your|must|required|invalid|the|is|are|and|for|with|please|not|password|passwords|confirm|new|current"
    r"|forgot|reset|change|at|least|to|of|a|an|or|in|use|uses|show|hide|token|secret|key|wrong|match)\b",
    re.IGNORECASE,
)
_DOTTED = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+[!?]?$")
_PATHLIKE = re.compile(r"(?:\.{0,2}/|~|[A-Za-z]:[\\/]|[a-z]+://)")
_IDENTIFIER = re.compile(r"[A-Za-z_$][a-z_$A-Z-]*$")
_TYPE = re.compile(r"(?:[A-Z][a-z]+)+\d{0,3}(?:[A-Z][a-z]+)*(?:[\[<].*)?$")
_TYPE_SAID = re.compile(r"(?:[A-Z][a-z]+)+\d?(?:[A-Z][a-z]+)*$|Base\d\d")
_TAILS = ("s", "key", "token", "secret", "value", "string", "text", "keys", "tokens", "orization")
_SHORT = ("pass", "pw", "pwd", "psk", "sig", "auth", "seed")  # other words end in them too
_GLUED = re.compile(r"(?:db|root|user|admin|my|ftp|mail|key|store|bind)(?:pass|pwd?)$")  # ``$dbpass``, ``bindpw``
_VAGUE = ("auth", "credential", "seed", "salt", "pepper", "sessid", "jsessionid", "sig", "signature")
_DIGIT = re.compile(r"\d")
_LETTER = re.compile(r"[^\W\d_]")
_SYMBOL = re.compile(r"[!@#$%^&*+=~?]")
_PLURALS = ("s", "_keys", "keys", "_tokens", "tokens")
_SNAKE = re.compile(r"[a-z]+(?:_[a-z]+)+\d{0,3}$")
_PASSWORDS = ("pass", "pw", "psk")


def assignments(text: str, lowered: str) -> Iterator[Span]:
    """Yield values assigned to a name that marks them as secret."""
    place = 0
    while word := _WORD.search(lowered, place):
        place = word.end(1)  # ``auth`` in NEXTAUTH_SECRET must not hide ``secret``
        if not _fits(text, lowered, word) or _inside_mark(text, word.start()):
            continue
        place = word.end()
        start, end, kind = _value(text, lowered, word)
        if kind:
            yield start, end, kind
        if kind or end - start == _JUDGED:  # a very long value is not searched again for each word in it
            place = max(place, end)


def _inside_mark(text: str, at: int) -> bool:
    opened = text.rfind("[redacted:", max(0, at - 40), at)
    return opened >= 0 and text.find("]", opened, at) < 0


def _value(text: str, lowered: str, word: re.Match[str]) -> Span:
    """Return start, end and kind of the value assigned to this word; the kind is empty when it is not a secret."""
    name = text[word.start() : word.end()]
    tail = word.group(2)
    password = word.group(1).startswith(_PASSWORDS)
    form, start = _form(text, lowered, word.start(), word.end(), password=password)
    if not form:
        return start, start, ""
    scheme = _SCHEME.match(text, start)
    bare = _BARE_ENV if form == "assign" and name.isupper() else _BARE
    start, end, quoted = _extent(text, scheme.end() if scheme else start, bare)
    judged = _Judged(text[start:end], password, quoted, form, name.isupper())
    vague = tail in _PLURALS or (word.group(1) in _VAGUE and tail in ("", "orization"))
    any_key = word.group(1) == "key" and not _WHOSE_KEY.search(lowered, max(0, word.start() - 16), word.start())
    strict = form == "beside" or any_key or (vague and not scheme)
    if (judged.looks_random() if strict else judged.is_secret()) and (not any_key or _KEY_LETTERS.match(judged.value)):
        if end - start == _JUDGED and (rest := _REST.match(text, end)):
            end = rest.end()
        return start, end, "password" if password else _kind(word.group(1) + tail)
    return start, end, ""


def _kind(name: str) -> str:
    for kind in ("token", "key", "secret"):
        if kind in name:
            return kind
    return "credential"


def _fits(text: str, lowered: str, word: re.Match[str]) -> bool:
    """Return whether the whole name denotes a secret: ``api_key``, but not ``monkey`` or ``passwordFile``."""
    core, tail = word.groups()
    start, end = word.span(1)
    before = lowered[max(0, start - 16) : start]
    if core == "key" and (_WHOSE_NO_SECRET.search(before) or not (_WHOSE.search(before) or _WHOSE_KEY.search(before))):
        return False
    if (
        core in _SHORT
        and lowered[max(0, start - 1) : start].isalnum()
        and not _GLUED.search(lowered, max(0, start - 5), end)
    ):
        return False
    if not tail or tail in _TAILS:
        return True
    begins = word.start(2)
    apart = tail[0] in "_-" or tail[0].isdigit() or (text[begins].isupper() and text[begins - 1].islower())
    return apart and not _ABOUT.search(tail)


def _form(text: str, lowered: str, start: int, end: int, *, password: bool) -> tuple[str, int]:
    """Return the form in which the value is given, and where it starts.

    ``assign`` is ``NAME=value``, ``spaced`` any other assignment sign, ``flag`` a command line option, ``quoted`` an
    attribute, ``said`` prose, ``beside`` a value right after the name, and ``""`` no value.
    """
    if start and text[start - 1] in "\"'" and text.startswith(f":{text[start - 1]}", end):
        return "", end  # a prompt in quotes, as ``expect "Password:"``: nothing is assigned to it
    if match := _ASSIGN.match(text, end):
        return ("spaced" if text[match.start() : match.end()].strip(" \t") != "=" else "assign"), match.end()
    before = text[max(text.rfind("\n", max(0, start - 60), start) + 1, start - 60, 0) : start]
    match = None
    form = ""
    if _FLAG.search(before) or (password and _is_netrc(text, lowered, start)):
        form, match = "flag", _SPACE.match(text, end)
    if not match and _TAG.search(before):
        form, match = "assign", _ELEMENT.match(text, end)
    if not match:
        form, match = "quoted", _ATTRIBUTE.match(lowered, end)
    if not match:
        form, match = "assign", _field(lowered, before, end)
    if not match:
        form, match = "spaced", _CALLED.match(text, end)
    if not match:
        form, match = "said", _SAID.match(lowered, end)
    if not match:
        form, match = "beside", (_BESIDE_PASSWORD if password else _BESIDE).match(text, end) or _BELOW.match(text, end)
    return (form, match.end()) if match else ("", end)


def _is_netrc(text: str, lowered: str, start: int) -> bool:
    """Return whether the word follows ``login NAME`` on the same line or the next, as in a netrc file."""
    login = lowered.rfind("login", max(0, start - 110), start)
    return login >= 0 and _NETRC.match(text, login, start) is not None


def _field(lowered: str, before: str, end: int) -> re.Match[str] | None:
    """Return the match before a value in a field of its own, or before the default of a lookup."""
    if lowered.find("value", end, end + 60) >= 0 and (match := _PAIRED.match(lowered, end)):
        return match
    match = _FALLBACK.match(lowered, end)
    return match if match and _ASKED.search(before) else None


def _extent(text: str, start: int, pattern: re.Pattern[str]) -> tuple[int, int, bool]:
    """Return where the value at ``start`` begins and ends, and whether it is quoted."""
    opening = _OPENING.match(text, start)
    if opening:
        close = text.find(opening.group().lstrip("[]byte(ru@"), opening.end(), opening.end() + 512)
        line = text.find("\n", opening.end(), opening.end() + 512)
        if close >= 0 and not 0 <= line < close:
            return opening.end(), close, True
        start = opening.end()
    bare = pattern.match(text, start)
    if not bare:
        return start, start, False
    end = bare.end()
    while end > start and text[end - 1] in ".,;:)]}*" and pattern is not _BARE_ENV:
        end -= 1
    return start, end, False


class _Judged:
    """A value and its form, to be judged whether it is a secret."""

    def __init__(self, value: str, password: bool, quoted: bool, form: str, upper: bool) -> None:
        self.value = value
        self.password = password
        self.quoted = quoted
        self.form = form
        self.explicit = form == "flag" or (form == "assign" and upper)
        self.digit = _DIGIT.search(value) is not None
        self.letter = _LETTER.search(value) is not None
        self.symbol = _SYMBOL.search(value) is not None

    def is_secret(self) -> bool:
        value = self.value
        if len(value) < 4 or _PLACEHOLDER.match(value) or _is_code(value, quoted=self.quoted):
            return False
        if re.search(r"\s", value):
            return self.quoted and self.password and self.form != "said" and not _LABEL.search(value)
        return self._is_password() if self.password else self._is_key()

    def _is_password(self) -> bool:
        if self.explicit:
            return True
        if self.quoted and self.form != "said":
            return self.digit or self.symbol or not _LABEL.search(self.value.replace("_", " ").replace("-", " "))
        strong = (self.digit and (self.letter or len(self.value) > 5)) or (self.symbol and self.letter)
        strong = strong or _is_random_letters(self.value)
        of_type = _TYPE_SAID if self.form == "said" else _TYPE
        return len(self.value) >= 6 and strong and not (of_type.match(self.value) or _SNAKE.match(self.value))

    def _is_key(self) -> bool:
        value = self.value
        if value.isdigit() or _IDENTIFIER.match(value):
            share = 0.3 if self.explicit and self.form == "assign" else 0.4
            return len(value) >= 16 and is_mixed(value, share)
        if not (self.digit and self.letter) or _TYPE.match(value):
            return False
        if self.explicit and len(value) >= 16:
            return True
        if self.explicit or self.quoted:
            return len(value) >= 8 and not is_slug(value)
        return len(value) >= 12 and not is_slug(value)

    def looks_random(self) -> bool:
        """Return whether the value alone looks like a secret; a stricter check, for words that prove little."""
        value = self.value
        if not self.digit or not self.letter or _PLACEHOLDER.match(value) or re.search(r"\s", value):
            return False
        if self.password and self.form == "beside":
            mixed = len(value) >= 8 and is_mixed(value, 0.4) and not is_slug(value)
            return len(value) >= 6 and (self.symbol or mixed) and not _is_code(value, quoted=self.quoted)
        return len(value) >= 16 and is_mixed(value) and not is_slug(value)


def _is_code(value: str, *, quoted: bool) -> bool:
    """Return whether the value is an expression, a path or a reference instead of a literal."""
    if _DOTTED.match(value) and not is_mixed(value):
        return True
    if _PATHLIKE.match(value) and not ((quoted and is_mixed(value)) or _is_base64(value)):
        return True
    if quoted:
        return "${" in value or "{{" in value or "%s" in value or "{}" in value
    return any(mark in value for mark in ("(", "[", "{", "|", "=>", "::", "->"))


def _is_random_letters(value: str) -> bool:
    """Return whether the value is random letters of both cases; names of words have few capitals, at word starts."""
    share = sum(map(str.isupper, value)) / len(value)
    return len(value) >= 12 and value.isalpha() and 0.3 <= share <= 0.7 and is_mixed(value, 0.4)


def _is_base64(value: str) -> bool:
    """Return whether a value that looks like a path is random base64 that happens to begin with a slash."""
    return len(value) >= 16 and value.count("/") <= 3 and "." not in value and is_mixed(value.replace("/", ""), 0.45)


def is_said(value: str) -> bool:
    """Return whether the value that a sentence names as a password looks like one, in any language."""
    return _Judged(value, True, False, "said", False).is_secret()


def is_placeholder(value: str) -> bool:
    """Return whether the value stands for a secret: a variable, a mark, "changeme"."""
    return _PLACEHOLDER.match(value) is not None


def is_slug(value: str) -> bool:
    """Return whether the value consists of words and numbers, as in ``test-token-1``, and is not random."""
    parts = re.split(r"[-_.:/]", value)
    return all(
        part.isalpha() or part.isdigit() or re.fullmatch(r"[A-Za-z]{3,}\d{1,4}|v\d+", part) for part in parts if part
    ) and not any(len(part) > 8 and is_mixed(part, 0.35) for part in parts)


def is_mixed(value: str, share: float = 0.3) -> bool:
    """Return whether characters change class (digit, lower, upper, other) as often as in a random string.

    ``share`` is the least share of such changes. It is 0.62 in a random string of letters and digits, and below 0.3 in
    words, camelCase and paths.
    """
    classes = [_class_of(character) for character in value[:256]]
    changes = sum(1 for left, right in pairwise(classes) if left != right)
    return changes >= share * len(classes)


def _class_of(character: str) -> int:
    if character.isdigit():
        return 0
    return 1 if character.islower() else 2 if character.isupper() else 3


_BEARER = re.compile(r"(?:bearer|authorization\W{1,6}[a-z-]{3,20})[ \t]{1,4}([a-z0-9._~+/=-]{16,})")
_BASIC = re.compile(r"basic[ \t]{1,4}([a-z0-9+/]{8,}={0,2})(?![\w/+])")
_COOKIE = re.compile(
    r"""cookie\\{0,2}["']?[ \t]{0,2}:[ \t]{0,2}\\{0,2}["']?"""
    r"""((?!samesite|secure|path|domain|expires|max-age)[^\s=;,"']{1,60}=[^"'\r\n\\]{6,})"""
)
_PART_OF_NAME = re.compile(r"[\w.]$")  # ``document.cookie``, ``csrf_cookie``
_USER = re.compile(r"""-u(?:ser)?[ \t=]{1,2}["']?([^\s:"'$<{]{1,60}):([^\s"'$<{][^\s"']{2,100})""")
_AUTHORITY = re.compile(
    r"://([^\s:/@\"'`<>\[\]{}()]{0,60}):([^\s/@\"'`<>]{1,200}(?:/[^\s/@\"'`<>]{1,60})?)@(?=[\w\[$%{.-])"
)
_NO_PASSWORD = re.compile(r"(?:pass(?:word|wd)?|pw|pwd|user|username|secret|token|xxx+|\*+|\.+)$", re.IGNORECASE)


def headers(text: str, lowered: str) -> Iterator[Span]:
    """Yield credentials in the headers Authorization (RFC 6750, RFC 7617), Cookie and Set-Cookie."""
    if "bearer" in lowered or "authorization" in lowered:
        for match in _BEARER.finditer(lowered):
            if _is_random(text[match.start(1) : match.end(1)]):
                yield match.start(1), match.end(1), "bearer-token"
    if "basic" in lowered:
        for match in _BASIC.finditer(lowered):
            if _is_basic(text[match.start(1) : match.end(1)]):
                yield match.start(1), match.end(1), "basic-auth"
    if "cookie" in lowered:
        for match in _COOKIE.finditer(lowered):
            if not _PART_OF_NAME.search(lowered, max(0, match.start() - 1), match.start()):
                setting = lowered.endswith("set-", 0, match.start())
                first = lowered.find(";", match.start(1), match.end(1)) if setting else -1
                yield match.start(1), first if first >= 0 else match.end(1), "cookie"


_COMMAND = re.compile(
    r"(?:sshpass[ \t]{1,4}-p[ \t]{0,4}|redis-cli[ \t](?:[^\n|;]{0,60}[ \t])?-a[ \t]{1,4}"
    r"|mysql[a-z]{0,8}[ \t](?:[^\n|;]{0,60}[ \t])?-p"
    r"|echo[ \t]{1,4}(?=[^\n|]{4,100}\|[ \t]{0,4}sudo[ \t]{1,4}-S))[\"']?([^\s\"'$<]{4,100})"
)


def commands(text: str, lowered: str) -> Iterator[Span]:
    """Yield passwords after the short options of commands that take one."""
    if "-u" in text and ("curl" in lowered or "wget" in lowered or "http" in lowered):
        for match in _USER.finditer(text):
            alone = text[match.start() - 1 : match.start()] in " \t-"  # and not the end of a longer option
            if alone and not match.group(2).isdigit() and not _NO_PASSWORD.match(match.group(2)):
                yield match.start(2), match.end(2), "password"
    if "sudo" in lowered or "sshpass" in lowered or "redis-cli" in lowered or "mysql" in lowered:
        for match in _COMMAND.finditer(text):
            yield match.start(1), match.end(1), "password"


_CALL = re.compile(
    r"""(?:hmac\.new\(|(?:jwt\.(?:sign|verify|encode|decode)|createhmac|basicauth)\("""
    r"""[^,()\n]{1,60}(?:\([^()\n]{0,60}\))?[^,()\n]{0,20},)[ \t]{0,4}b?(["'])"""
)


def calls(text: str, lowered: str) -> Iterator[Span]:
    """Yield secrets that are arguments of a call that signs, verifies or logs in."""
    if "(" not in text:
        return
    for match in matches(lowered, _CALL, "hmac.new(", "jwt.", "createhmac(", "basicauth("):
        end = text.find(match.group(1), match.end(), match.end() + 300)
        value = text[match.end() : max(end, match.end())]
        if len(value) >= 6 and not re.search(r"\s", value) and not _PLACEHOLDER.match(value):
            yield match.end(), end, "secret"


_PHRASE = re.compile(  # the lookbehinds hold the last letters of seed, recovery, backup and secret
    r"(?:mnemonic|(?:(?<=seed|very|ckup|cret)|(?<=(?:seed|very|ckup|cret)[ _-]))(?:phrase|words?))"
    r"\\{0,2}[\"'`]?[ \t]{0,4}(?:[:=]|is|was|are)?[ \t]{0,4}(?:\r?\n[ \t]{0,8})?\\{0,2}[\"'`]?"
    r"((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})"
)


def phrases(_text: str, lowered: str) -> Iterator[Span]:
    """Yield the 12 to 24 words of a labelled wallet recovery phrase (BIP 39; words of three to eight letters)."""
    if len(lowered) < 50:  # shorter than twelve words
        return
    for match in matches(lowered, _PHRASE, "mnemonic", "phrase", "word"):
        yield match.start(1), match.end(1), "seed-phrase"


def matches(lowered: str, pattern: re.Pattern[str], *beginnings: str) -> Iterator[re.Match[str]]:
    """Yield matches at one of the pattern's literal beginnings; searching for these is many times faster."""
    for beginning in beginnings:
        place = lowered.find(beginning)
        while place >= 0:
            if match := pattern.match(lowered, place):
                yield match
            place = lowered.find(beginning, place + 1)


def _is_random(value: str) -> bool:
    return any(map(str.isdigit, value)) and not _PLACEHOLDER.match(value) and not is_slug(value)


def _is_basic(value: str) -> bool:
    """Return whether base64 text encodes ``user:password`` (RFC 7617)."""
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in plain and plain.isascii() and plain.decode("ascii").isprintable()


def urls(text: str, _lowered: str) -> Iterator[Span]:
    """Yield passwords between a URL's user and host (RFC 3986 userinfo)."""
    if "://" in text:
        for match in _AUTHORITY.finditer(text):
            value = match.group(2)
            if not _PLACEHOLDER.match(value) and not _NO_PASSWORD.match(value) and "${" not in value:
                yield match.start(2), match.end(2), "password"


FINDERS: tuple[Callable[[str, str], Iterator[Span]], ...] = (
    headers,
    urls,
    commands,
    calls,
    phrases,
    assignments,
)
