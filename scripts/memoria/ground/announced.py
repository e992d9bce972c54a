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

_NAME = r"[a-z0-9_.-]{0,60}(?:pass|pwd|secret|token|key|salt|credential)[a-z0-9_.-]{0,60}"
_OPTION = r"[ \t=]{1,3}[\"']?(?P<value>[^\s\"'$<-][^\s\"'<]{3,100})"
_GIVEN = r"[\"']?(?P<value>[^\s\"'$<][^\s\"'<]{3,100})"
_ARGS = r"[^\n|;]{0,120}?[ \t]"

# In prose: the words for a password, and what stands between one and the password.
_WORDS = (
    " pw|password|passphrase|passcode|passwort|kennwort|mot de passe|contraseña|clave|senha|palavra-passe|wachtwoord|lösenord"
    "|passord|adgangskode|hasło|heslo|salasana|пароль|şifre|parola|비밀번호|암호|密码|密碼|口令|パスワード|暗証番号|mật khẩu|كلمة المرور|كلمة السر"
)
_SAYS = (
    r"(?:[ \t](?:is|was|to|ist|lautet|heißt|est|es|é|è|är|er|je|on|это|là|هي)(?: (?:now|jetzt|maintenant|ahora|agora|ora|nu))?:?[ \t]{1,3}"
    r"|[ \t\u00a0\u202f]?[:：][ \t]{0,3}|[ \t][—–-][ \t]|(?:现在|現在)?[是为為はが는은][ \t、]?|(?<=[^\x00-\x7f])[ \t])"
)
_API_KEY = r"(?:api[ -]?(?:schlüssel|nyckel|nøkkel|nøgle|sleutel|anahtar|키|キー|密钥|密鑰)|(?:clé|clave|chiave|chave|ключ)(?: d['’]| de | do | para )? ?api)"


class _Rule(NamedTuple):
    """Where to look (literals in lower case), the pattern that starts there, and the kind of what it finds.

    The pattern names what it finds: a ``value`` is written out, ``said`` is what is called a password, ``strong`` must
    look like one by itself.
    """

    beginnings: tuple[str, ...]
    pattern: re.Pattern[str]
    kind: str = "password"


_PIPED = r"(?:echo|printf)[ \t](?:%s[ \t]|-n[ \t])?[\"']?(?P<value>[^\s\"'$<|][^\s\"'<|]{3,100})[\"']?[ \t]?\|(?:[^\n|]{1,120}?--(?:password-stdin|with-token)|[ \t]?base64\b(?![ \t]--?d))"


def _rule(beginnings: str, pattern: str, kind: str = "password") -> _Rule:
    return _Rule(tuple(beginnings.split("|")), re.compile(pattern), kind)


_RULES = (
    # options and files of tools
    _rule("login|mongo|sqlcmd|ipmitool", rf"[a-z]{{4,13}}[ \t]{_ARGS}-p{_OPTION}"),
    _rule("vault login|cargo login", r"[a-z]{5} login[ \t](?P<value>[^\s\"'$<=-][^\s\"'$<=]{15,100})", "token"),
    _rule("freerdp", rf"freerdp[ \t][^\n|;]{{0,120}}?[ \t]/p:{_GIVEN}"),
    _rule("htpasswd -", rf"htpasswd[ \t]-[a-z]{{0,4}}b[a-z]{{0,4}}[ \t]\S{{1,100}}[ \t]\S{{1,60}}[ \t]{_GIVEN}"),
    _rule("rabbitmqctl", rf"rabbitmqctl[ \t](?:add_user|change_password)[ \t]\S{{1,60}}[ \t]{_GIVEN}"),
    _rule("http -a|https -a", rf"https? -a[ \t]?[\"']?[^\s:\"']{{1,60}}:{_GIVEN}"),
    _rule("ldap", rf"ldap[a-z]{{2,10}}[ \t]{_ARGS}-w{_OPTION}"),
    _rule("zip ", rf"zip[ \t](?:{_ARGS})?-p{_OPTION}"),
    _rule("7z ", r"7z[ \t](?:[^\n|;]{0,120}?[ \t])?-p(?P<value>[^\s\"'$<]{4,100})"),
    _rule("smbclient|rpcclient|lftp", rf"[a-z]{{4,9}}[ \t](?:{_ARGS})?-u[ \t]?[^\s%,]{{1,60}}[%,](?P<value>[^\s\"'$<]{{4,100}})"),
    _rule("net use", r"net use[ \t](?:[a-z]:|\*)[ \t]\S{1,100}[ \t](?P<value>[^\s/\"'$<]\S{3,100})[ \t]/user"),
    _rule("net use", r"net use[ \t][^\n|;]{0,120}?/user:\S{1,60}[ \t](?P<value>[^\s/\"'$<]\S{3,100})"),
    _rule("echo ", r"echo[ \t][\"']?[^\s:\"'$]{1,60}:(?P<value>[^\s\"'$<]{4,100})[\"']?[ \t]?\|[ \t]?(?:sudo )?chpasswd"),
    _rule("storepass|keypass", rf"(?:store|key)pass{_OPTION}"),
    _rule("set -", rf"set[ \t]-[a-z]{{1,4}}[ \t]{_NAME}{_OPTION}", "key"),
    _rule(":*:|:5432:", r":(?:\*|5432):[^\s:]{1,60}:[^\s:]{1,60}:(?P<value>[^\s:]{4,100})"),
    _rule("psk", r"psk[ \t]?=[ \t]?\"(?P<value>[^\"\n]{8,63})\""),
    _rule("requirepass|masterauth", rf"(?:requirepass|masterauth){_OPTION}"),
    _rule("user-secrets set", rf"user-secrets set[ \t]{{1,3}}\S{{1,80}}{_OPTION}", "secret"),
    _rule("convertto-securestring", rf"convertto-securestring(?:[ \t]-string)?{_OPTION}"),
    _rule("redis-cli", r"redis-cli\"[^\n\]]{0,100}\"-a\",[ \t]?\"(?P<value>[^\"\n$]{4,100})\""),
    _rule("client-key-data", r"client-key-data\\{0,2}[\"']?[ \t]{0,4}:[ \t]{0,4}\\{0,2}[\"']?(?P<value>[a-z0-9+/]{40,}={0,2})", "key"),
    # declarations
    _rule("variable", rf"variable[ \t]{{1,3}}\"{_NAME}\"[ \t]{{0,3}}\{{[^{{}}]{{0,400}}?\bdefault[ \t]{{0,12}}=[ \t]{{0,3}}\"(?P<value>[^\"\n]{{4,200}})\""),
    _rule("define(", rf"define\([ \t]{{0,3}}[\"']{_NAME}[\"'][ \t]{{0,3}},[ \t]{{0,3}}[\"'](?P<value>[^\"'\n]{{4,200}})[\"']"),
    _rule("password\">", r"password\">(?P<value>[^<>\s]{4,100})</"),
    _rule("with password|identified", r"(?:with password|identified(?: with [a-z0-9_'\"]{1,40})? by)[ \t]{0,3}=?[ \t]{0,3}n?'(?P<value>[^'\n]{4,100})'"),
    # addresses
    _rule("jdbc:", r"jdbc:[a-z0-9]{2,20}(?::[a-z0-9]{2,20}){0,2}:[^\s/:@]{1,60}/(?P<value>[^\s/@\"']{4,100})@"),
    _rule("https://", r"https://(?P<value>[0-9a-f]{32})@[a-z0-9.-]{3,100}/[0-9]", "key"),
    _rule("echo |printf ", _PIPED),
    # said in prose
    _rule(_WORDS, rf"(?:{_WORDS})\w{{0,10}}(?:[ \t][^\n.;:?!]{{1,50}}?)?{_SAYS}(?P<said>[!-~]{{6,100}}|[^\s,;\u3040-\u30ff\u4e00-\u9fff]{{6,100}})"),
    _rule(_WORDS, rf"(?:{_WORDS})\w{{0,10}}[ \t](?P<strong>[!-~]{{6,100}})"),
    _rule("şifre", r"şifre\w{0,10}[ \t](?P<said>[!-~]{6,100})"),
    _rule("credential|login|log in|sign in|zugang|anmeld|inlog|logga in|identifiant|credenzial|credencial", r"[^\n]{5,90}?[ \t]/[ \t](?P<strong>[!-~]{6,100})"),
    _rule("api|clé|clave|chiave|chave|ключ", rf"{_API_KEY}\w{{0,10}}(?:[ \t][^\n.;:?!]{{1,50}}?)?{_SAYS}(?P<value>[\w.~+/=-]{{16,200}})", "key"),
)  # fmt: skip

_BY_BEGINNING = [(beginning, rule) for rule in _RULES for beginning in rule.beginnings]
_DIGIT = re.compile(r"[0-9]")

_CALLS = (
    ".login(", "plainauth(", "networkcredential(", "basic_auth(", "basicauth(", "getconnection(", "mysqli_connect(",
    "new pdo(", "auth=(", "auth = (",
)  # fmt: skip
_ARGUMENT = re.compile(r"(?:,|\bsome\()[ \t]{0,4}[bru]?([\"'])([^\"'\n]{6,100})\1")
_TAKEN_AS = re.compile(
    r"(?<![!-~])([!-~]{6,100})[ \t]as (?:the|my|your|our|its|a)[ \t][^\n.;:?!]{0,30}?(?:password|passphrase|passwort|pw)\b"
)
_ADDRESS = re.compile(r"[^\s@]+@[^\s@]+\.[a-z]{2,}$|(?:[a-z0-9-]+\.)+[a-z]{2,}(?::\d+)?$", re.IGNORECASE)
_AROUND = "\"'`*.,;:)]}>"


def announced(text: str, lowered: str) -> Iterator[Span]:
    """Yield secrets that a phrase, call, option or declaration announces."""
    if not _DIGIT.search(text):  # such a value has hardly ever none, and most short texts are done with here
        return
    for beginning, rule in [pair for pair in _BY_BEGINNING if pair[0] in lowered]:
        for match in assignments.matches(lowered, rule.pattern, beginning):
            (how,) = rule.pattern.groupindex
            start, end = match.span(how)
            if how != "value":
                start, end = _bare(text, start, end)
            value = text[start:end]
            if (
                _is_literal(value)
                if how == "value"
                else _is_strong(value) or (how == "said" and assignments.is_said(value))
            ):
                yield start, end, rule.kind
    if "(" in text:
        yield from _arguments(text, lowered)
    if " as " in lowered and ("pass" in lowered or "pw" in lowered):
        for match in _TAKEN_AS.finditer(lowered):
            start, end = _bare(text, *match.span(1))
            if _is_strong(text[start:end]):
                yield start, end, "password"


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
    while end > start and text[end - 1] in _AROUND:
        end -= 1
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


def _is_strong(value: str) -> bool:
    """Return whether a word of a sentence looks like a password: digits and letters, with signs or both cases."""
    if len(value) < 6 or assignments.is_placeholder(value) or _ADDRESS.match(value) or "://" in value:
        return False
    has_letter = any(map(str.isalpha, value))
    if not (has_letter and any(map(str.isdigit, value))) or any(sign in value for sign in "(){}[]/\\"):
        return False
    has_sign = any(sign in "!@#$%^&*+=~?" for sign in value)
    has_cases = not (value.islower() or value.isupper()) and assignments.is_mixed(value)
    return (has_sign or has_cases) and not assignments.is_slug(value)
