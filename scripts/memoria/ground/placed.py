"""Placed: find secrets by the place where they stand, without a word that names them.

Headers, the user's part of a URL, ``user:password`` and the short options of tools, what is piped into one, the words
of a wallet, recovery codes. Knows places; ``values`` knows what looks like a secret.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator

from memoria.ground.named import Span
from memoria.ground.values import Looks, is_mixed, is_placeholder, is_slug, looks

_BEARER = re.compile(r"bearer[ \t]{1,4}([a-z0-9._~+/=-]{16,})")
_BASIC = re.compile(r"basic[ \t]{1,4}([a-z0-9+/]{8,}={0,2})(?![\w/+])")
_COOKIE = re.compile(
    r"""cookie\\{0,2}["']?[ \t]{0,2}:[ \t]{0,2}\\{0,2}["']?"""
    r"""((?!samesite|secure|path|domain|expires|max-age)[^\s=;,"']{1,60}=[^"'\r\n\\]{6,})"""
)


def headers(text: str, lowered: str) -> Iterator[Span]:
    """Yield credentials in the headers Authorization (RFC 6750, RFC 7617), Cookie and Set-Cookie."""
    for match in matches(lowered, _BEARER, "bearer"):
        value = text[slice(*match.span(1))]
        if any(map(str.isdigit, value)) and not is_placeholder(value) and not is_slug(value):
            yield *match.span(1), "bearer-token"
    for match in matches(lowered, _BASIC, "basic"):
        if _is_basic(text[slice(*match.span(1))]):
            yield *match.span(1), "basic-auth"
    for match in matches(lowered, _COOKIE, "cookie"):
        value = text[slice(*match.span(1))]
        if lowered.endswith("set-", 0, match.start()):
            value = value.partition(";")[0]  # its attributes follow
        if any(looks(each.partition("=")[2]) >= Looks.MADE for each in value.split(";")):
            yield match.start(1), match.start(1) + len(value), "cookie"


def _is_basic(value: str) -> bool:
    """Return whether base64 text encodes ``user:password`` (RFC 7617)."""
    try:
        plain = base64.b64decode(value + "==")
    except ValueError:
        return False
    return b":" in plain and plain.isascii() and plain.decode("ascii").isprintable()


_AUTHORITY = re.compile(
    r"://([^\s:/@\"'`<>\[\]{}()]{0,60}):([^\s/@\"'`<>]{1,200}(?:/[^\s/@\"'`<>]{1,60})?)@(?=[\w\[$%{.-])"
)
_ORACLE = re.compile(r"jdbc:[a-z0-9]{2,20}(?::[a-z0-9]{2,20}){0,2}:[^\s/:@]{1,60}/([^\s/@\"']{4,100})@")
_DSN = re.compile(r"https://([0-9a-f]{32})@[a-z0-9.-]{3,100}/[0-9]")
_NO_PASSWORD = re.compile(r"(?:pass(?:word|wd)?|pw|pwd|user|username|secret|token|xxx+|\*+|\.+)$", re.IGNORECASE)


def urls(text: str, lowered: str) -> Iterator[Span]:
    """Yield passwords between a URL's user and host (RFC 3986 userinfo), and keys before it."""
    for match in matches(text, _AUTHORITY, "://"):
        value = match.group(2)
        if not is_placeholder(value) and not _NO_PASSWORD.match(value) and "${" not in value:
            yield *match.span(2), "password"
    for match in (*matches(lowered, _ORACLE, "jdbc:"), *matches(lowered, _DSN, "https://")):
        yield *match.span(1), "password"


_DIGIT = re.compile("[0-9]")
_OPTION = re.compile(
    r"[ \"'][-/](?:pass|r?p|[wkasn])(?:[\"'],)?[ \t=]{1,2}[\"']?([^\s\"'$</:-][^\s\"'<]{3,100})", re.IGNORECASE
)
_ATTACHED = re.compile(r" -p[\"']?([^\s\"'$<=:-][^\s\"'$<]{3,100})", re.IGNORECASE)
_USER = re.compile(
    r"(?: (?:-u|-a|--user|--auth|--creds|/user)[ \t=:]{0,2}[\"']?[\w.@/\\-]{1,60}[:%,]|\b(?:admin|root):)"
    r"([^\s\"'$<]{3,100})"
)
_AFTER_USER = re.compile(r"/(?:user:\S{1,60}[ \t]|p:)([^\s/\"'$<=][^\s=]{3,100})")
_FIELDS = re.compile(r":(?:\*|\d{4,5}):(?![0-9a-f]{1,4}:)[^\s:]{1,60}:[^\s:]{1,60}:([^\s:*][^\s:]{3,100})")  # pgpass
_GIVES_USER = re.compile(
    r" (?:-u|-d|-l|--user(?:name)?|--login)\b|login |curl |wget |https? |sshpass|redis|mysql|zip |7z |openssl|ldap"
    r"|useradd|usermod"
)
# Commands whose ``-u a:b`` is a name with its password, and whose ``-p`` takes nothing else.
_PAIR = re.compile(r"curl |wget |https? |smbclient |ldap")
_ONLY = re.compile(r"sshpass |docker login |\bzip |unzip ")
_PIPED = re.compile(
    r"(?:(?:echo|printf)[ \t](?:[\"']?%s(?:\\n)*[\"']?[ \t]|-n[ \t])?|<<<[ \t]?)"
    r"[\"']?([^\s\"'$<|]{4,100})[\"']?(?=[ \t]?(\||$))",
    re.MULTILINE,
)
_TAKES = re.compile(r"[^\n]{0,60}?(?:passw|token|secret|sudo -s|cryptsetup|login|base64\b(?![ \t]--?d)|gpg)")


def options(text: str, lowered: str) -> Iterator[Span]:
    """Yield passwords after short options, after the user's name and a colon, and piped into a command."""
    for match in (*matches(lowered, _AFTER_USER, "/user:", "/p:"), *_FIELDS.finditer(lowered)):
        if looks(text[slice(*match.span(1))]) >= Looks.MADE:
            yield *match.span(1), "password"
    for match in (
        *matches(text, _OPTION, " -", '"-', "'-", " /"),
        *matches(text, _ATTACHED, " -p", " -P"),
        *matches(lowered, _USER, " -u", " -a", " --", " /u", "admin:", "root:"),
    ):
        yield from _find_given(text, lowered, match)
    for match in matches(text, _PIPED, "echo ", "printf ", "<<<"):
        value = match.group(1)
        if looks(value) >= Looks.MADE and (match.group(2) != "|" or _TAKES.match(lowered, match.end())):
            yield *match.span(1), "password"


def _find_given(text: str, lowered: str, match: re.Match[str]) -> Iterator[Span]:
    start, end = match.span(1)
    before = lowered[max(0, match.start() - 120) : start].rpartition("\n")[2]
    only = _PAIR if re.search("[:%]", text[match.start() : start]) else _ONLY
    least = Looks.NAME if only.search(before) else Looks.MADE if _GIVES_USER.search(before) else Looks.STRONG
    seems = looks(text[start:end], quoted=re.search("[\"']", match[0]) is not None)
    if seems >= least or (seems >= Looks.CODE and re.search("[!#$%^&*?]", text[start:end])):
        yield start, end, "password"


_CALLS = ("hmac", "jwt.", "login", "connect", "auth", "credential", "client", "pdo", "crypt", "superuser")
_CALL = re.compile(
    r"(?:hmac(?:\.new)?|jwt\.\w{4,6}|login|connect|connection|auth|credentials?|client|pdo|crypt|superuser)"
    r"(?:[ \t]?=[ \t]?)?\((?=([^\n]{0,300}[\"']))"
)
_ARGUMENT = re.compile(r"(?:[,(]|some\()[ \t]{0,4}[bru]?([\"'])([^\"'\s]{2,200})\1")


def calls(text: str, lowered: str) -> Iterator[Span]:
    """Yield secrets that are arguments of a call that signs, verifies or logs in."""
    if "(" not in text:
        return
    for call in matches(lowered, _CALL, *_CALLS):
        for number, match in enumerate(_ARGUMENT.finditer(lowered, call.end() - 1, call.end(1))):
            start, end = match.span(2)
            is_first = match[0].startswith("(") or call[0].startswith("client")
            # The third of ``connect("db", "user", "password")`` may be any word.
            least = Looks.CODE if is_first else Looks.NAME if number == 2 else Looks.MADE
            if end - start >= 6 and looks(text[start:end], quoted=True) >= least:
                yield start, end, "secret"


_PHRASE = re.compile(  # the lookbehinds hold the last letters of seed, recovery, backup and secret
    r"(?:mnemonic|(?:(?<=seed|very|ckup|cret)|(?<=(?:seed|very|ckup|cret)[ _-]))(?:phrase|words?))"
    r"\\{0,2}[\"'`]?[ \t]{0,4}(?:[:=]|is|was|are)?[ \t]{0,4}(?:\r?\n[ \t]{0,8})?\\{0,2}[\"'`]?"
    r"((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})"
)
_CODES = re.compile(
    r"code[sn]?(?:[ \t](?:is|are|ist|sind))?[ \t]?:?\s{0,8}"
    r"((?=[a-z]*\d)[a-z0-9]{4,10}(?:(?:-|[\s,;*•-]{1,8}|[ \t](?:and|und)[ \t])(?=[a-z]*\d)[a-z0-9]{4,10}){1,40})"
)


def phrases(_text: str, lowered: str) -> Iterator[Span]:
    """Yield the 12 to 24 words of a labelled wallet recovery phrase (BIP 39), and lists of recovery codes."""
    for match in matches(lowered, _PHRASE, "mnemonic", "phrase", "word"):
        yield *match.span(1), "seed-phrase"
    for match in matches(lowered, _CODES, "code"):
        if not is_slug(re.sub(r"[\s,;*•]+", "-", match[1])):
            yield *match.span(1), "password"


def matches(lowered: str, pattern: re.Pattern[str], *beginnings: str) -> Iterator[re.Match[str]]:
    """Yield matches at one of the pattern's literal beginnings; searching for these is many times faster."""
    for beginning in beginnings:
        place = lowered.find(beginning)
        while place >= 0:
            match = pattern.match(lowered, place)
            if match:
                yield match
            place = lowered.find(beginning, match.end() if match else place + 1)


# A password that needs no word: a sign among letters and digits, or a word and a number with an exclamation mark.
_SIGN = re.compile(
    r"[!#$%&?*](?:(?<=[A-Za-z0-9].)(?=[A-Za-z0-9])|(?<=[A-Za-z0-9]!)(?=[\"'`]|[ \t][a-z-]|[ \t]?$))", re.MULTILINE
)
_LETTERS = re.compile(r"[A-Za-z0-9!#$%^&*?@+~_.-]{8,40}(?![^\s\"'`),;])")
_NO_LETTER = re.compile(r"[^A-Za-z0-9!#$%^&*?@+~_.-]")
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}|\.html?#")


def find_alone(text: str, _lowered: str) -> Iterator[Span]:
    """Yield words that can be nothing but a password: both cases, digits, and a sign inside or at the end."""
    if not _DIGIT.search(text):
        return
    place = 0
    for sign in _SIGN.finditer(text):
        before = text[max(place, sign.start() - 40) : sign.start()]
        start = sign.start() - len(_NO_LETTER.split(before)[-1])
        word = _LETTERS.match(text, start)
        if sign.start() >= place and word:
            place = word.end()
            value = word[0].rstrip(".?")
            if not text[start - 1 : start].strip(" \t\r\n\"'`(,=:") and _is_password(value):
                yield start, start + len(value), "password"


def _is_password(value: str) -> bool:
    digits, seems = sum(map(str.isdigit, value)), looks(value)
    if value.islower() or value.isupper() or digits < 2 or seems < Looks.CODE or _ENCODED.search(value):
        return False
    return value.endswith("!") or (seems == Looks.STRONG and (is_mixed(value, 0.45) or digits > 2))


FINDERS: tuple[Callable[[str, str], Iterator[Span]], ...] = (headers, urls, options, calls, phrases, find_alone)
