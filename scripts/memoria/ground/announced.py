"""Announced: find secrets after phrases, calls and options that announce one without naming it in an assignment.

Each rule begins with a literal, which is searched first, and reads a limited stretch after it. What it finds must
also look like a secret: words, variables and placeholders stay.
"""

# ruff: noqa: E501, RUF001 (one rule a line, and colons as Chinese and Japanese write them)
from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memoria.ground import assignments
from memoria.ground.assignments import Span

_NAME = r"[a-z0-9_.-]{0,60}(?:pass|pw|secret|token|key|salt|credential)[a-z0-9_.-]{0,60}"
_OPTION = r"[ \t=]{1,3}[\"']?(?P<value>[^\s\"'$<-][^\s\"'<]{3,100})"
_GIVEN = r"[\"']?(?P<value>[^\s\"'$<][^\s\"'<]{3,100})"
_ARGS = r"[^\n|;]{0,120}?[ \t]"

# In prose: the words for a password, what stands between one and the password, and the words for a key.
_WORDS = (
    " pw|password|passphrase|passcode|passwort|kennwort|mot de passe|mdp|contraseña|clave|senha|palavra-passe|wachtwoord|lösenord"
    "|passord|adgangskode|hasło|heslo|salasana|jelszó|пароль|şifre|parola|비밀번호|암호|密码|密碼|口令|パスワード|暗証番号|mật khẩu"
    "|kata sandi|κωδικός|สรหัสผ่าน|पासवर्ड|סיסמה|كلمة المرور|كلمة السر"
)
_VERBS = "is|was|are|were|be|should be|must be|to|wird|sein|ist|war|lautet|heißt|est|était|es|era|é|è|är|var|er|je|on|olarak|это|la|là|هي"
_ADVERBS = "now|still|jetzt|noch|maintenant|ahora|agora|ora|nu|eerst"
_SAYS = (
    rf"(?:[ \t](?:{_VERBS})(?: (?:{_ADVERBS}))?:?[ \t]{{1,3}}"
    r"|[ \t\u00a0\u202f]?[:：][ \t]{0,3}|[ \t](?:[—–-][ \t]|\()|(?:现在|現在)?[是为為はが는은][ \t、]?|(?<=[^\x00-\x7f])[ \t])"
)
_KEY = (
    "clé|clave|chiave|chave|ключ|klucz|klíč|schlüssel|sleutel|nyckel|nøkkel|nøgle|avain|anahtar|kulcs|키|キー|密钥|密鑰"
)
_KEY_NAME = rf"(?:api[ -]?(?:key|{_KEY})|(?:{_KEY})[^\n.;:?!]{{0,16}}?[ ’']api|token|secret|jeton)\w{{0,10}}"


class _Rule(NamedTuple):
    """Where to look (literals in lower case), the pattern that starts there, and the kind of what it finds.

    The pattern names what it finds: a ``value`` is written out, a ``random`` one must be random, a ``code`` has digits
    and is no words, and a ``pin`` is digits.
    """

    beginnings: tuple[str, ...]
    pattern: re.Pattern[str]
    kind: str = "password"


_PIPED = r"(?:echo|printf)[ \t](?:%s[ \t]|-n[ \t])?[\"']?(?P<value>[^\s\"'$<|][^\s\"'<|]{3,100})[\"']?[ \t]?\|(?:[^\n|]{1,120}?--(?:password-stdin|with-token)|[ \t]?(?:sudo )?(?:cryptsetup|chpasswd|smbpasswd)|[ \t]?base64\b(?![ \t]--?d))"


def _rule(beginnings: str, pattern: str, kind: str = "password") -> _Rule:
    return _Rule(tuple(beginnings.split("|")), re.compile(pattern), kind)


_RULES = (
    # options and files of tools
    _rule(" -u ", r" -u[ \t]\S{1,60}[ \t](?:(?!mkdir|cp |tar |ssh |[|;]).){0,80}?-p[ \t][\"']?(?P<value>(?=\S*[a-z])[^\s\"'$</:-][^\s\"'</:]{3,100})"),
    _rule("login ", rf"login[ \t]{_ARGS}-p{_OPTION}"),
    _rule("vault login|cargo login", r"[a-z]{5} login[ \t](?P<value>[^\s\"'$<=-][^\s\"'$<=]{15,100})", "token"),
    _rule("freerdp", rf"freerdp[ \t][^\n|;]{{0,120}}?[ \t]/p:{_GIVEN}"),
    _rule("htpasswd -", rf"htpasswd[ \t]-[a-z]{{0,4}}b[a-z]{{0,4}}[ \t]\S{{1,100}}[ \t]\S{{1,60}}[ \t]{_GIVEN}"),
    _rule("rabbitmqctl", rf"rabbitmqctl[ \t](?:add_user|change_password)[ \t]\S{{1,60}}[ \t]{_GIVEN}"),
    _rule("http -a|https -a", rf"https? -a[ \t]?[\"']?[^\s:\"']{{1,60}}:{_GIVEN}"),
    _rule("openssl", rf"openssl[ \t]{_ARGS}-k{_OPTION}"),
    _rule("ldap", rf"ldap[a-z]{{2,10}}[ \t]{_ARGS}-w{_OPTION}"),
    _rule("zip ", rf"zip[ \t](?:{_ARGS})?-p{_OPTION}"),
    _rule("7z ", r"7z[ \t](?:[^\n|;]{0,120}?[ \t])?-p(?P<value>[^\s\"'$<]{4,100})"),
    _rule(" -u", r" -u[ \t]?[\"']?[\w.@/\\-]{1,60}[%,](?P<value>[^\s\"'$<]{4,100})"),
    _rule("net use", r"net use[ \t](?:[a-z]:|\*)[ \t]\S{1,100}[ \t](?P<value>[^\s/\"'$<]\S{3,100})[ \t]/user"),
    _rule("net use", r"net use[ \t][^\n|;]{0,120}?/user:\S{1,60}[ \t](?P<value>[^\s/\"'$<]\S{3,100})"),
    _rule("storepass|keypass", rf"(?:store|key)pass{_OPTION}"),
    _rule("set -", rf"set[ \t]-[a-z]{{1,4}}[ \t]{_NAME}{_OPTION}", "key"),
    _rule(":*:|:5432:", r":(?:\*|5432):[^\s:]{1,60}:[^\s:]{1,60}:(?P<value>[^\s:]{4,100})"),
    _rule("requirepass|masterauth", rf"(?:requirepass|masterauth){_OPTION}"),
    _rule("user-secrets set", rf"user-secrets set[ \t]{{1,3}}\S{{1,80}}{_OPTION}", "secret"),
    _rule("convertto-securestring", rf"convertto-securestring(?:[ \t]-string)?{_OPTION}"),
    _rule("redis-cli", r"redis-cli\"[^\n\]]{0,100}\"-a\",[ \t]?\"(?P<value>[^\"\n$]{4,100})\""),
    _rule("client-key-data", r"client-key-data\\{0,2}[\"']?[ \t]{0,4}:[ \t]{0,4}\\{0,2}[\"']?(?P<value>[a-z0-9+/]{40,}={0,2})", "key"),
    _rule("\"kty\"", r"\"kty\"[^{}]{0,3000}?\"[dk]\"[ ]?:[ ]?\"(?P<value>[\w-]{20,700})\"", "private-key"),
    # declarations
    _rule("variable", rf"variable[ \t]{{1,3}}\"{_NAME}\"[ \t]{{0,3}}\{{[^{{}}]{{0,400}}?\bdefault[ \t]{{0,12}}=[ \t]{{0,3}}\"(?P<value>[^\"\n]{{4,200}})\""),
    _rule("define(", rf"define\([ \t]{{0,3}}[\"']{_NAME}[\"'][ \t]{{0,3}},[ \t]{{0,3}}[\"'](?P<value>[^\"'\n]{{4,200}})[\"']"),
    _rule("password\">", r"password\">(?P<value>[^<>\s]{4,100})</"),
    _rule("with password|identified", r"(?:with password|identified(?: with [a-z0-9_'\"]{1,40})? by)[ \t]{0,3}=?[ \t]{0,3}n?'(?P<value>[^'\n]{4,100})'"),
    # addresses
    _rule("jdbc:", r"jdbc:[a-z0-9]{2,20}(?::[a-z0-9]{2,20}){0,2}:[^\s/:@]{1,60}/(?P<value>[^\s/@\"']{4,100})@"),
    _rule("https://", r"https://(?P<value>[0-9a-f]{32})@[a-z0-9.-]{3,100}/[0-9]", "key"),
    _rule("echo |printf ", _PIPED),
    # said in prose, where no word for a password stands
    _rule("recovery|backup|2fa|rescue|wiederherstellung|einmal", r"[a-z0-9]{3,20}[ -]?codes?(?:[ \t](?:is|are|ist|sind))?[ \t]?:?\s{0,8}(?P<code>(?=[a-z]*\d)[a-z0-9]{4,10}(?:(?:-|[\s,;*•-]{1,8}|[ \t](?:and|und)[ \t])(?=[a-z]*\d)[a-z0-9]{4,10}){1,40})"),
    _rule("pin", rf"(?<![a-z])pin(?:[ -]?code)?(?:[ \t][^\n.;:?!0-9]{{1,30}}?)?{_SAYS}(?P<pin>\d{{4,8}})(?![\w.])"),
    _rule("wlan|wifi|wi-fi", rf"w(?:lan|i-?fi)[ -]?(?:key|code|schlüssel|passwort|kennwort|password){_SAYS}(?P<pin>\d{{8,24}})(?!\w)"),
    _rule(f"api|{_KEY}|token|secret|jeton", rf"{_KEY_NAME}(?:[ \t][^\n.;:?!]{{1,40}}?)?{_SAYS}[\"'`]?(?P<random>[\w.~+/=-]{{16,200}})", "key"),
)  # fmt: skip

_BY_BEGINNING = [(beginning, rule) for rule in _RULES for beginning in rule.beginnings]
_DIGIT = re.compile(r"[0-9]")

_LOGINS = ("login", "log in", "sign in", "zugang", "anmeld", "inlog", "logga in")
_CREDENTIALS = (*_LOGINS, "credential", "creds", "zugangsdaten", "identifiant", "credenzial", "credencial")
_CALLS = (
    ".login(", "plainauth(", "networkcredential(", "basic_auth(", "basicauth(", "getconnection(", "mysqli_connect(",
    "new pdo(", "auth=(", "auth = (",
)  # fmt: skip
_ARGUMENT = re.compile(r"(?:,|\bsome\()[ \t]{0,4}[bru]?([\"'])([^\"'\n]{6,100})\1")
_ADDRESS = re.compile(r"[^\s@]+@[^\s@]+\.[a-z]{2,}$|(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?$", re.IGNORECASE)
_AROUND_OPENING = " \t\"'`“„«‘"
_AROUND = "\"'`*.,;:)]}>“”„«»‘’"

# A word of a sentence or an argument; the scripts that put no blanks between words are not in it.
_APART = r"\s\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef"
_TOKEN = re.compile(rf"[^{_APART}\"'`(),;“”„«»‘’]+")
_VALUE = re.compile(rf"[^{_APART}]{{1,100}}")
_SAYING = frozenset(f"{_VERBS}|=|—|–|-".split("|"))
_PREPOSITIONS = ("to", "on")  # verbs only right after the word, in Polish and Finnish
_STILL = frozenset(_ADVERBS.split("|"))
_NAMES = re.compile(r"[:：]|[是为為はが는은][ \t、]?$")  # the end of what stands between a word and what it names
_TAKEN_AS = re.compile(r"[\"'`”»]?[ \t](?:as|als|como|comme|come|som|jako|как)[ \t]")
_NEAR = 60  # characters on both sides of a word for a password in which one is looked for
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "„": "“", "«": "»", "‘": "’"}
_OTHER = re.compile(
    r"\d\.\d|#\d+$|\.[a-z]{1,4}\d?$|[\[\]{}<>/\\|=+]", re.IGNORECASE
)  # a version, an issue, a file, code
_WORDS_AND_NUMBER = re.compile(r"(?!base\d|argon)[^\W\d_]{4,}(?:[-_.][^\W\d_]{3,})*[-_.]?\d{2,4}$", re.IGNORECASE)
_SIGN = re.compile(r"(?<=.)[!#$%^&*?](?=.)|[#$%^&*]$")  # not the end of a sentence


def announced(text: str, lowered: str) -> Iterator[Span]:
    """Yield secrets that a phrase, call, option or declaration announces."""
    if not _DIGIT.search(text):  # such a value has hardly ever none, and most short texts are done with here
        return
    for beginning, rule in [pair for pair in _BY_BEGINNING if pair[0] in lowered]:
        for match in assignments.matches(lowered, rule.pattern, beginning):
            (how,) = rule.pattern.groupindex
            start, end = match.span(how)
            if how == "random":
                start, end = _bare(text, start, end)
            if _JUDGES[how](text[start:end]):
                yield start, end, rule.kind
    for word in [word for word in _WORDS.split("|") if word in lowered]:
        place = lowered.find(word)
        while place >= 0:
            yield from _around(text, lowered, place, place + len(word))
            place = lowered.find(word, place + 1)
    for word in [word for word in _CREDENTIALS if word in lowered]:
        place = lowered.find(word)
        while place >= 0:
            yield from _after(text, place, of_all=word not in _LOGINS)
            place = lowered.find(word, place + 1)
    if "(" in text:
        yield from _arguments(text, lowered)


def _after(text: str, place: int, *, of_all: bool) -> Iterator[Span]:
    """Yield what looks like a password in the line after a word for name and password, or only what a slash divides."""
    line = text.find("\n", place, place + 90)
    for token in _TOKEN.finditer(text, place, line if line >= 0 else place + 90):
        start, end = _bare(text, *token.span())
        is_divided = text[max(0, start - 3) : start] == " / "
        is_apart = of_all and not _OTHER.search(text, start, end) and _is_strong(text[start:end], 0.4)
        if is_divided or is_apart:
            yield from _beside(text, start, end, is_given=True)


def _around(text: str, lowered: str, begin: int, end: int) -> Iterator[Span]:
    """Yield what the line around a word for a password calls one, and what looks like one beside it."""
    first = max(text.rfind("\n", max(0, begin - _NEAR), begin) + 1, begin - _NEAR, 0)
    for token in _TOKEN.finditer(text, first, begin):
        if token.end() < begin:
            yield from _beside(text, *token.span(), is_given=_TAKEN_AS.match(text, token.end()) is not None)
    line = text.find("\n", end, end + _NEAR)
    word = _TOKEN.match(text, end)  # the end of the word
    if word and text[end] not in ":=":
        if "_" in word[0]:  # a name, of which ``assignments`` knows more
            return
        end = word.end()
    last, is_open = end, True  # whether what follows can still say what the password is
    is_named = not text[end - 1].isascii() or text.endswith(":", begin, end) or lowered.endswith("şifre", begin, end)
    for token in _TOKEN.finditer(text, end, line if line >= 0 else end + _NEAR):
        said, between = lowered[token.start() : token.end()], text[last : token.start()]
        start = token.start() + (len(said) > 1 and said[0] in ":=")
        is_named = is_named or (is_open and (start > token.start() or _NAMES.search(between) is not None))
        is_first, place = last == end, _whole(text, start)
        if is_named and _is_said(text[slice(*place)]):
            yield *place, "password"
        else:
            yield from _beside(text, start, token.end(), is_given=is_first and not between.strip(_AROUND_OPENING))
        is_saying = said in _SAYING and (is_first or said not in _PREPOSITIONS)
        is_named = is_open and (is_saying or said[-1] == ":" or (is_named and said in _STILL))
        is_open = is_open and not (start > token.start() or said[-1] in ".;:?!")
        last = token.end()


def _beside(text: str, start: int, end: int, *, is_given: bool) -> Iterator[Span]:
    """Yield a word near one for a password that looks like one; unless it is given as one, more so than names do."""
    is_quoted = text[start - 1 : start] in _QUOTES if start else False
    start, end = _whole(text, start) if is_quoted else _bare(text, start, end)
    value = text[start:end]
    if not (_is_strong(value) or (is_given and (_WORDS_AND_NUMBER.match(value) or _is_code(value, 0.35)))):
        return
    if not is_given:
        if len(value) < (6 if is_quoted else 8) or _OTHER.search(value):
            return
        if not (_SIGN.search(value) or (len(value) >= 10 and assignments.is_mixed(value, 0.4 if is_quoted else 0.5))):
            return
    yield start, end, "password"


def _whole(text: str, start: int) -> tuple[int, int]:
    """Return the place of the value that begins here: up to its closing quote, else to the next blank."""
    closing = _QUOTES.get(text[start - 1 : start]) if start else None
    close = text.find(closing, start, start + 100) if closing else -1
    if close > start and not re.search(r"\s", text[start:close]):
        return start, close - 2 * text.endswith(("\\r", "\\n"), start, close)
    value = _VALUE.match(text, start)
    return _bare(text, start, value.end() if value else start)


def _arguments(text: str, lowered: str) -> Iterator[Span]:
    """Yield the literal passwords among the arguments of a call that logs in."""
    for call in [call for call in _CALLS if call in lowered]:
        place = lowered.find(call)
        while place >= 0:
            begin = place + len(call)
            line = text.find("\n", begin, begin + 300)
            end = line if line >= 0 else min(len(text), begin + 300)
            for match in _ARGUMENT.finditer(lowered, begin, end):
                value = text[match.start(2) : match.end(2)]
                if _is_literal(value):
                    yield match.start(2), match.end(2), "password"
            place = lowered.find(call, begin)


def _bare(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the place of a word without the quotes and full stops around it."""
    while start < end and text[start] in "\"'`*(<":
        start += 1
    while end > start and (text[end - 1] in _AROUND or text.endswith(("\\r", "\\n"), start, end)):
        end -= 1 if text[end - 1] in _AROUND else 2
    return start, end


def _is_literal(value: str) -> bool:
    """Return whether a value that a tool or a declaration takes is written out, and no word or reference."""
    return (
        not assignments.is_placeholder(value)
        and not re.search(r"\s", value)
        and not (value.isdigit() and len(value) < 6)  # a port
        and (any(map(str.isdigit, value)) or assignments.is_mixed(value, 0.4))
        and not _ADDRESS.match(value)
    )


def _is_strong(value: str, share: float = 0.3) -> bool:
    """Return whether a word of a sentence looks like a password: digits and letters, with signs or both cases."""
    if len(value) < 6 or assignments.is_placeholder(value) or _ADDRESS.match(value) or "://" in value:
        return False
    has_letter = any(map(str.isalpha, value))
    if not (has_letter and any(map(str.isdigit, value))) or any(sign in value for sign in "(){}[]/\\"):
        return False
    has_sign = any(sign in "!@#$%^&*+=~?" for sign in value)
    has_cases = not (value.islower() or value.isupper()) and assignments.is_mixed(value, share)
    return (has_sign or has_cases) and not assignments.is_slug(value)


def _is_said(value: str) -> bool:
    """Return whether a sentence that calls a word a password seems to mean it."""
    return len(value) >= 6 and (_is_strong(value) or assignments.is_said(value))


def _is_random(value: str) -> bool:
    """Return whether a word that a sentence calls a key can be one."""
    has_digit, has_letter = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    return has_digit and has_letter and assignments.is_mixed(value) and not assignments.is_slug(value)


def _is_code(value: str, share: float = 0.0) -> bool:
    """Return whether a value of digits and letters is no words and, with ``share``, as mixed as a random one."""
    has_both = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    is_random = not share or (len(value) >= 8 and not _OTHER.search(value) and assignments.is_mixed(value, share))
    return has_both and is_random and not assignments.is_slug(value.replace(" ", "-"))


_JUDGES = {"value": _is_literal, "random": _is_random, "code": _is_code, "pin": str.isdigit}
