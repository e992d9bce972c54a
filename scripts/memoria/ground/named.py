"""Named: find secrets that can be recognised only by the words near them.

A word that names a secret, in some twenty languages, is given its value in two ways. *Assigned*: a sign, an option, an
element or a call gives it one, in any syntax; that is a secret unless it is a placeholder, a type, a call or a
reference. *Said*: a sentence calls something by it, or has something beside it; that must look like a secret, the more
so the less the words say (``values``). Knows words and where values stand; does not know marks or services' keys.

Takes linear time: what is read around a word has a limit, and no repetition is nested.
"""

# ruff: noqa: RUF001 (colons and words as other languages write them)
from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import IntEnum
from itertools import groupby

from memoria.ground.values import Looks, is_mixed, is_name, looks

Span = tuple[int, int, str]


class _Names(IntEnum):
    """What a word names."""

    PASSWORD = 0
    KEY = 1
    LOGIN = 2  # name and password
    PIN = 3


_KINDS = ("password", "key", "password", "password")
# English identifiers, of which the rest of the name says whether they hold a secret; then words of any language.
_IDENTIFIERS = {
    _Names.PASSWORD: "password|passwd|passwort|passphrase|passcode|pass|pwd|pw|psk|community",
    _Names.KEY: "secret|token|key|seed|salt|pepper|sessid|jsessionid|sig|signature",
    _Names.LOGIN: "credential|auth",
}
_WORDS = {
    _Names.PASSWORD: (
        "kennwort|mot de passe|mot_de_passe|motdepasse|mdp|contraseña|contrasena|clave|senha|palavra-passe|wachtwoord"
        "|lösenord|lösenet|losenord|passord|adgangskode|hasł|haslo|hesl|salasana|jelszó|jelszo|парол|şifre|sifre"
        "|parola d'ordine|parola|비밀번호|비번|암호|密码|密碼|口令|パスワード|mật khẩu|kata sandi|κωδικός|รหัสผ่าน|पासवर्ड"
        "|סיסמה|كلمة المرور|كلمة السر|identified by|wpa key|wpa2 key|wifi key|wi-fi key|wlan key|wlan-schlüssel"
    ),
    _Names.KEY: (
        "clé|chiave|chave|ключ|klucz|klíč|schlüssel|sleutel|nyckel|nøkkel|nøgle|avain|anahtar|kulcs|jeton|токен|키|토큰"
        "|キー|トークン|密钥|密鑰|令牌"
    ),
    _Names.LOGIN: (
        "login|log in|sign in|creds|zugang|anmeld|inlog|logga in|identifiant|credenzial|credencial|securestring"
        "|net use|add_user|adduser|user add|logon|sqlplus|usuario|usuário|credenciai|acceso|accesso|giriş|logowani"
        "|přihlá|kirjaut|логин|вход|учетн|ログイン|로그인|계정|登录|账号|登入"
    ),
    _Names.PIN: "pin|wlan|wifi|wi-fi|暗証番号|geheimzahl|unlock code|door code|keypad code|access code",
}
_NAMES = {word: kind for each in (_IDENTIFIERS, _WORDS) for kind, words in each.items() for word in words.split("|")}
_ENGLISH = frozenset("|".join(_IDENTIFIERS.values()).split("|"))
_FOLLOWED = {"auth": "(?!0)", "sig": "(?==)", "signature": "(?==)"}


def _any_of(words: Iterable[str]) -> str:
    """Return a pattern of alternatives that are told apart by their first letter, which makes it twice as fast."""
    groups = groupby(sorted(words, key=lambda word: (word[0], -len(word))), key=lambda word: word[0])
    return "|".join(
        f"{first}(?:{'|'.join(word[1:] + _FOLLOWED.get(word, '') for word in group)})" for first, group in groups
    )


# Searched in the lower-cased text (same offsets): case-insensitive matching would take ten times as long. The pattern
# begins with plain literals; the text before ``key`` and ``sig`` is examined only where one was found.
_WORD = re.compile(rf"({_any_of(_NAMES)})([a-z0-9_\u00df-\u024f\u0400-\u04ff-]{{0,40}})")
_VAGUE = ("auth", "credential", "seed", "salt", "pepper", "sessid", "jsessionid", "login", "sig", "signature")
_WHOSE_KEY = re.compile(
    r"(?:api|access|account|auth|encryption|signing|master|private|licen[cs]e|service|shared|storage|app|jwt|product"
    r"|activation|server|recovery)[_ .-]?$"
)
_WHOSE_NO_SECRET = re.compile(
    r"(?:public|pub|publishable|recv|cache|primary|foreign|sort|partition|index|object|dedup|idempotency|host)[_. -]?$"
)
_NO_PASS = re.compile(r"(?:by|com|tres|over|sur|under|im|multi|band|low|high|ask|one|two|first|second)pass$")
_TAILS = ("s", "key", "token", "secret", "value", "string", "text", "keys", "tokens", "orization")
_PLURALS = ("s", "_keys", "keys", "_tokens", "tokens")
# An identifier that continues with one of these words names something about the secret, not the secret itself.
_ABOUT = re.compile(
    r"id(?:s|entifier)?(?:[_-]|$)|name|length|count|size|type|kind|field|input|policy|polic|file|path|dir|url|uri"
    r"|endpoint|limit|usage|budget|manager|provider|expir|ttl|timeout|header|prefix|suffix|ref|regex|pattern"
    r"|error|label"
    r"|placeholder|arn|hash|algo|format|valid|strength|require|enabled|disabled|version|status|scope|schema|store|rule"
    r"|config|option|param|callback|handler|function|class|service|client_?id|method|mode|state|reset|rotat|scan|detect"
    r"|encryption|index|column|env|var|holder|tracker|used|per|cost|price|max|min|total|word|ize|izing"
)
_LABEL = re.compile(
    r"\b(?:enter|your|must|required|invalid|the|is|are|and|for|with|please|not|confirm|new|current|forgot|reset|change"
    r"|at|least|to|of|a|an|or|in|uses?|show|hide|wrong|match)\b",
    re.IGNORECASE,
)

# What stands between a name and the value that is assigned to it.
_SIGN = re.compile(
    r"""(?:\\{0,2}["'`*]){0,3}\]?[ \t]{0,4}"""
    r"""(?::[ \t]?[\w.|\[\] ]{2,20}[ \t]?=(?!=)|=>|:=|={1,3}|:(?!:)|\|(?!\|)"""  # also ``name: type =``
    r"""|(?:\|\|=?|\?\?=?|[ \t]or)(?=[ \t]{0,4}["'`]))"""
    r"""[ \t]{0,8}(?:\\{0,2}["'`*]{2}[ \t]{0,2})?(?:\r?\n[ \t]{0,40}(?=\\{0,2}["']))?"""
    r"""|(?:["']?>|</key>)(?:\s{0,40}<(?:[Vv]alue|string)>)?(?=[^<>\s]{4,300}</)"""  # an element
    r"""|(?P<argument>\((?=["'])|["'],[ \t]{0,4}(?:default[ \t]?=[ \t]?)?(?=["']))"""  # an argument, or the next one
    r"""|["'][ \t]{0,3}\{[^{}]{0,400}?\bdefault[ \t]{0,12}=[ \t]{0,3}(?=")"""  # a declaration
    # the field after the name: ``- name: API_TOKEN`` and ``value: …``, ``{"name": …, "value": …}``, attributes
    r"""|\\{0,2}["']?,?[ \t]{0,4}(?:\r?\n[ \t]{0,40})?\\{0,2}["']?[Vv]alue\\{0,2}["']?[ \t]{0,2}[:=][ \t]{0,4}"""
)
_FLAG = re.compile(r"(?:^|\s)-[^\s=]{0,40}$")
_SPACE = re.compile(r"[ \t]{1,4}(?![-&|<>;)])")
_OPENING = re.compile(r"""(?:(?:\[\]byte\(|[bru@]{0,2})(?=["']))?\\{0,2}["'`]""")
_SCHEME = re.compile(r"[\"']?(?:(bearer|basic|token|digest|api-?key)|[a-z-]{3,20})[ \t]+")  # of a header
# "&" ends a value only where another name follows, as in a URL.
_BARE = re.compile(r"""(?:\\(?![nrt"'`\\])|&(?![\w.\[\]-]{1,40}=)|[^\s"'`<>,;&\\]){1,160}""")
_BARE_ENV = re.compile(r"""(?:\\(?![nrt"'`\\])|[^\s"'`\\]){1,160}""")
_JUDGED = 160  # characters of an unquoted value that are examined; the rest of a secret is redacted with them
_REST = re.compile(r"""[^\s"'`<>,;&\\]*""")


def named_values(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values of names and words that mark them as secret."""
    place = 0
    while word := _WORD.search(lowered, place):
        place = word.end(1)  # ``auth`` in NEXTAUTH_SECRET must not hide ``secret``
        names = _NAMES[word[1]]
        if not _fits(text, lowered, word) or _inside_mark(text, word.start()):
            continue
        start = end = 0
        if names < _Names.LOGIN or word[1] in _VAGUE:
            start, end, kind = _find_assigned(text, lowered, word, names)
            if kind or end - start == _JUDGED:  # a very long value is not searched again for each word in it
                place = max(place, end)
            if kind:
                yield start, end, kind
                continue
        if names < _Names.LOGIN:
            place = max(place, word.end())
        if (names != _Names.PASSWORD or start == end) and (told := _find_told(text, lowered, word, names)):
            yield told
        else:
            yield from _search_around(text, *word.span(), names)


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", max(0, at - _NEAR), at) + 1, at - _NEAR)


def _inside_mark(text: str, at: int) -> bool:
    _, opened, inside = text[max(0, at - 40) : at].rpartition("[redacted:")
    return bool(opened) and "]" not in inside


def _fits(text: str, lowered: str, word: re.Match[str]) -> bool:
    """Return whether the whole name denotes a secret: ``api_key``, but not ``monkey`` or ``passwordFile``."""
    core, tail = word.groups()
    start, end = word.span(1)
    before = lowered[max(0, start - 16) : start]
    about = tail[:1] in ("_", "-") and _ABOUT.search(tail)
    if core not in _ENGLISH:  # of other languages, a short one may be part of a word; any ending may follow
        joined = len(core) < 7 and core.isascii() and before[-1:].isalpha() and text[start].islower()
        return not joined and not about and not (_NAMES[core] == _Names.PIN and tail[:1].isalpha())
    if core == "key" and not (before[-1:].isalnum() or before[-1:] in ("_", ".", "-") or _WHOSE_KEY.search(before)):
        return False
    if (core == "key" and _WHOSE_NO_SECRET.search(before)) or (
        core in ("sig", "auth", "seed") and before[-1:].isalnum()
    ):
        return False
    if (before.endswith(":") and text.startswith(":", end)) or _NO_PASS.search(before + core):  # ``arn:…:secret:name``
        return False
    if not tail or tail in _TAILS:
        return True
    is_camel = text[end - 1].islower() and text[end].isupper()
    return (is_camel or text[end].isdigit() or text[end] in "_-") and not _ABOUT.search(tail)


# ── a value that a sign assigns to the name ────────────────────────────────────────────────────────────────────────


def _find_assigned(text: str, lowered: str, word: re.Match[str], names: _Names) -> Span:
    """Return start, end and kind of the value assigned to this word; the kind is empty when it is not a secret."""
    core, tail = word.groups()
    before = text[_line_start(text, word.start()) : word.start()]
    form, start = _form(text, before, word.end())
    if not form:
        return start, start, ""
    upper = text[word.start() : word.end()].isupper()
    env = form == "=" and upper
    scheme = _SCHEME.match(lowered, start)
    scheme = scheme if scheme and (scheme[1] or tail == "orization") else None
    start, end, quoted = _extent(text, scheme.end() if scheme else start, _BARE_ENV if env else _BARE)
    value = text[start:end]
    whose = _WHOSE_KEY.search(before.lower())
    joined = core == "secret" and (before[-1:].isalpha() or before[-1:] in ("_", "-", ".") or "key" in tail)
    is_named = joined or (core in ("token", "key") and whose is not None and tail not in _PLURALS)
    alone = form in ("=", "sign") and not quoted and tail != "s" and _LINE_ENDS.match(text, end) is not None
    is_code = text.endswith("= ", 0, start) and not re.fullmatch(r"[\w.-]*", before)
    alone = alone and not is_code and _LINE_BEGINS.match(before) is not None
    if names == _Names.PASSWORD or (is_named and (env or quoted or (joined and alone))):
        literal = quoted or form in ("element", "flag") or _FLAG.search(before) is not None
        if form == "call" and not text.startswith(")", end + 1):
            value = ""
        elif form in ("argument", "call"):
            literal = not value.isupper() and ((upper and form == "argument") or _SETS.search(before) is not None)
        explicit = env or (form == "flag" and quoted) or (upper and alone)
        found = _is_password(value, literal, explicit, alone)
    else:
        quoted = quoted and form != "argument"  # a list of names goes on alike
        vague = (core == "key" and not whose) or core not in _ENGLISH or tail in _PLURALS
        vague = vague or (core in _VAGUE and tail in ("", "orization") and not scheme)
        found = _is_key(value, quoted, env or form == "flag", vague)
    kind = next((kind for kind in ("token", "key", "secret") if kind in core + tail), "credential")
    kind = "" if not found else "password" if names == _Names.PASSWORD else kind
    if found and end - start == _JUDGED and (rest := _REST.match(text, end)):
        end = rest.end()
    return start, end, kind


# A call that gives a name a value: ``define('DB_PASSWORD', …)``, ``setPassword(…)``, ``fill('#password', …)``.
_SETS = re.compile(
    r"(?:^|[^A-Za-z])(?:set|put|define|env|getenv|fill|type|with)[A-Za-z_]{0,20}(?:\(.{0,40})?$", re.IGNORECASE
)
# The value of a line in a file of settings, of a string of settings or of a query.
_LINE_BEGINS = re.compile(r"""(?:[ \t]*(?:[-*>#][ \t]+)?[\w.-]*(?:[ ][\w.-]+){0,2}[ ]?|.*[;&?, ][\w.-]*|.*=)["'*$]*$""")
_LINE_ENDS = re.compile(r"[ \t]*(?:\r?\n|$|\\n|#)|;|&\w|[ \t]\w+=")


def _form(text: str, before: str, end: int) -> tuple[str, int]:
    """Return how a value is assigned to the name, and where it starts."""
    if before[-1:] in ('"', "'") and text.startswith(f":{before[-1]}", end):
        return "", end  # a prompt in quotes, as ``expect "Password:"``: nothing is assigned to it
    if match := _SIGN.match(text, end):
        sign = match.group().strip(" \t")
        form = "=" if sign == "=" else "element" if sign.endswith(">") and "=" not in sign else "sign"
        return {None: form, "(": "call"}.get(match["argument"], "argument"), match.end()
    if _FLAG.search(before):
        match = _SPACE.match(text, end)
    return ("flag", match.end()) if match else ("", end)


def _extent(text: str, start: int, pattern: re.Pattern[str]) -> tuple[int, int, bool]:
    """Return where the value at ``start`` begins and ends, and whether it is quoted."""
    opening = _OPENING.match(text, start)
    if opening:
        start = opening.end()
        inside, close, _ = text[start : start + 512].partition(opening.group().lstrip("[]byte(ru@"))
        if close and "\n" not in inside:
            return start, start + len(inside), True
    bare = pattern.match(text, start)
    value = bare[0] if bare else ""
    return start, start + len(value if pattern is _BARE_ENV else value.rstrip(".,;:)]}*")), False


def _is_password(value: str, quoted: bool, explicit: bool, alone: bool) -> bool:
    """Return whether a value that is assigned to a password is one: not a placeholder, type, call or reference."""
    seems = looks(value, quoted=quoted)
    if seems >= Looks.MADE and not re.search(r"\s", value):
        return explicit or quoted or len(value) >= 6
    if explicit or seems == Looks.NOTHING:
        return seems > Looks.NOTHING and (quoted or not re.search(r"\s", value))
    if quoted:
        return not ("-" not in value and _LABEL.search(value)) and not _repeats(value)
    return alone and (seems == Looks.WORDS or _DIGIT.search(value) is not None) and not _repeats(value)


def _repeats(value: str) -> bool:
    """Return whether the value is itself a name of a secret: ``hashedPassword``, ``config.password``."""
    lowered = value.lower()
    return not _DIGIT.search(value) and any(
        word[1].startswith("passw")
        or (word[1] not in _VAGUE and _NAMES[word[1]] < _Names.LOGIN and _fits(value, lowered, word))
        for word in _WORD.finditer(lowered)
    )


def _is_key(value: str, quoted: bool, explicit: bool, strict: bool) -> bool:
    seems = Looks.NOTHING if re.search(r"\s", value) else looks(value, quoted=quoted)
    if strict:
        mixed = is_mixed(value, 0.3 if len(value) < 32 else 0.2)
        return _DIGIT.search(value) is not None and seems >= Looks.CODE and len(value) >= 16 and mixed
    if explicit and len(value) >= 16:
        return seems >= Looks.MADE and not value.isdigit()
    return seems >= Looks.CODE and len(value) >= (8 if explicit or quoted or seems == Looks.STRONG else 12)


# What a sentence puts between a word for a secret and the secret.
_VERBS = "is|it's|was|are|were|ist|war|wird|lautet|heißt|est|c'est|était|es|era|é|è|är|var|er|je|jest|olarak|это|là|هي"
_INTO = "to|auf|in|zu|a|à|en|on|till|til|naar|para|su|na|на"
_ADVERBS = "now|still|set to|changed to|reset to|jetzt|noch|maintenant|ahora|agora|ora|nu|eerst"
_TOLD = re.compile(
    r"""['’]?s?[*_`"']{0,2}(?:[ \t]+[^\s;?!=:：]{0,23}[^\s;?!=:：.]){0,8}?"""
    rf"""(?:[ \t](?:(?:{_VERBS}|[—–→-]|->)(?: (?:{_ADVERBS}))?:?|(?P<into>{_INTO}))(?:[ \t]{{1,2}}|(?=["'“„«‘「`]))"""
    r"""|[ \t]?[:：][ \t]{0,2}|(?:改|设|设置)?[是为為成はがを는은이를을][ \t、]?)["'“„«‘「`*(]{0,3}[ ]?"""
)
_BESIDE = re.compile(r"""[ \t]["'`]|[ \t]?[“„«‘「]|[ \t](?=\w+[!#$%&*?^]\w)""")
# A value on the line below the word, as a program prints it.
_BELOW = re.compile(r"""["'`:*]{0,3}[ \t]{0,3}\r?\n[ \t]{0,8}([^\s"'`]{8,200})[ \t]{0,3}(?:\r?\n|\Z)""")
_AS = re.compile(r"[ \t]?[\"'`”»]?[ \t](?:as|als|como|comme|come|som|jako|как)[ \t]")
_NEAR = 60  # characters on both sides of a word in which a value is looked for
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "„": "“", "«": "»", "‘": "’", "「": "」"}
_AROUND = "\"'`*.,;:()]}>“”„«»‘’"
# A word of a sentence or an argument; the scripts that put no blanks between words are not in it.
_APART = r"\s\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff00-\uffef"
_TOKEN = re.compile(rf"[^{_APART}<>\"'`(),;“”„«»‘’]{{1,1000}}")
_VALUE = re.compile(rf"[^{_APART}<]{{1,1000}}")
_DIGIT = re.compile(r"[0-9]")
_FILE = re.compile(r"\.[a-z]{1,5}\d?$")
_HEX = re.compile(r"[0-9a-f-]+$|[0-9A-F:-]+$|(?:[a-z]{2,12}[-_]){1,3}[A-Za-z0-9]{1,31}$")  # a hash or an id
_SIGNED = re.compile(r"[!#$%&*?@^+~]\w")
_MIXED = re.compile(r"[0-9]|[a-z]-?[A-Z]|[!#$%&*?@^+~]\w")  # as no word of a sentence is


def _search_around(text: str, begin: int, end: int, names: _Names) -> Iterator[Span]:
    """Yield what looks like a secret in the line around a word, or stands below it."""
    below = _BELOW.match(text, end)
    if below and names < _Names.LOGIN and looks(below[1]) >= Looks.CODE and len(below[1]) >= (8, 16)[names]:
        yield *below.span(1), _KINDS[names]
    first = _line_start(text, begin)
    last = end + len(text[end : end + _NEAR].partition("\n")[0])
    if names == _Names.PIN or not _DIGIT.search(text, first, last):
        return
    after = end
    for token in _TOKEN.finditer(text, first):
        start, close = token.span()
        if start >= last:
            return
        if start <= after and close >= begin:  # the word itself, to which a value may be joined
            if text.startswith("(", end):  # a function
                return
            if not text.startswith((":", "="), end) or close <= end + 1:
                after = max(end, close - token[0].endswith(":"))
                continue
            start = end + 1
        if close < begin:
            if start == first and text[first - 1 : first].strip():
                continue  # the end of a word
            beside = text.endswith(" / ", first, start) or _AS.match(text, close) is not None
        else:
            between = text[after:start].rstrip(" \t\"'`“„«‘「")
            beside = not between.strip(" \t0123456789") or between.endswith(" /")
        yield from _judge(text, start, close, names, beside)


def _find_told(text: str, lowered: str, word: re.Match[str], names: _Names) -> Span | None:
    """Return what a sentence says the secret is: something in quotes, or a word that is in no dictionary."""
    place = end = word.end()
    is_noun = word[1] != "pass" or text.endswith("_", 0, word.start())  # ``pass "x" to y``
    is_quoted = text.endswith(('"', "'"), 0, word.start())
    link = _BESIDE.match(text, end) if is_noun and names == _Names.PASSWORD and not is_quoted else None
    if word[1] == "identified by" and not (link and link[0] == " '"):
        return None
    strict = bool(word[2]) and word[1] in _ENGLISH
    is_label = link is not None and word[1] != "identified by" and not text[word.start() : end].isupper()
    while (link := link or _TOLD.match(lowered, place)) and link.end() < end + _NEAR:
        into = link.groupdict().get("into")
        start, close, literal = _value(text, link.end())
        value = text[start:close]
        weak = strict or (into and not literal) or (literal and place > end and ":" in link[0])
        weak = weak or (
            is_label and place == end and value.islower() and value.strip().isalpha()
        )  # the password "field"
        if (is_noun or _DIGIT.search(value)) and _is_called(value, names, literal, bool(weak)):
            return start, close, _KINDS[names]
        strict, place, link = strict or not into, max(place + 1, link.end("into") if into else link.end() - 1), None
    return None


def _is_called(value: str, names: _Names, literal: str, strict: bool) -> bool:
    """Return whether a value that is called a secret is one; ``strict`` when the sentence may speak of else."""
    seems = looks(value, quoted=literal not in ("", "`"))
    if names == _Names.PIN:
        return value.isdigit() and 4 <= len(value) <= 24
    if names != _Names.PASSWORD:
        return names == _Names.KEY and not strict and _is_like(value, names, 2)
    if seems == Looks.NOTHING or _repeats(value):
        return False
    if literal and not strict:
        return not _LABEL.search(value)
    least = Looks.CODE if strict and len(value) < 12 else Looks.MADE
    is_made = seems >= least or (_SIGNED if strict else _MIXED).search(value)
    return bool(is_made) and len(value) >= 6 and not re.search(r"\s", value) and not _FILE.search(value)


# What a value must look like and its least length, when it stands near a word, right beside it, or is called by it.
_LEAST = {
    _Names.PASSWORD: ((Looks.STRONG, 8), (Looks.MADE, 6)),
    _Names.KEY: ((Looks.STRONG, 12), (Looks.CODE, 16), (Looks.CODE, 12)),
    _Names.LOGIN: ((Looks.STRONG, 8), (Looks.MADE, 6)),
}


def _is_like(value: str, names: _Names, said: int) -> bool:
    (least, length), seems = _LEAST[names][said], looks(value)
    if names == _Names.KEY:
        is_hash = _HEX.match(value) and (said == 0 or (said == 1 and len(value) < 32))
        return seems >= least and len(value) >= length and not is_hash and (seems == Looks.STRONG or not is_name(value))
    return seems >= least and len(value) >= length and not _FILE.search(value) and not (said == 0 and _HEX.match(value))


def _judge(text: str, start: int, end: int, names: _Names, beside: bool) -> Iterator[Span]:
    """Yield a value near a word when it looks enough like what the word names."""
    if not _DIGIT.search(text, start, end):
        return
    whole = _value(text, start)
    start, end = whole[:2] if whole[2] and not re.search(r"\s", text[start : whole[1]]) else _word(text, start, end)
    if _is_like(text[start:end], names, beside):
        yield start, end, _KINDS[names]


def _value(text: str, start: int) -> tuple[int, int, str]:
    """Return the place of the value that begins here, up to its closing quote or the next blank, and its quote."""
    opened = text[start - 1 : start]
    close = text.find(_QUOTES[opened], start, start + 1000) if opened in _QUOTES else -1
    if close > start and not re.search(r"\n" if close < start + 60 else r"\s", text[start:close]):
        return start, close - 2 * text.endswith(("\\r", "\\n"), start, close), opened
    value = _VALUE.match(text, start)
    return *_word(text, start, value.end() if value else start), ""


def _word(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the place of a word without the quotes and full stops around it."""
    while start < end and text[start] in "\"'`*(<":
        start += 1
    while end > start and (text[end - 1] in _AROUND or text.endswith(("\\r", "\\n"), start, end)):
        end -= 1 if text[end - 1] in _AROUND else 2
    return start, end
