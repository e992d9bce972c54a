"""Key patterns: the formats of the keys of common services, as two tables.

A format identifies a key without a word like *password* near it. Most services begin their keys with letters of their
own: those, and a rest that looks random, are all that is asked (``PREFIXES``). The others have a form of their own
(``SHAPES``). Lengths are lower bounds, because services have changed theirs before.
Knows the formats of keys; ``redact`` knows marks and settings, ``named`` the words around a key.

Sources: the default rules of gitleaks 8 (MIT), those of MongoDB's Kingfisher 1.5 (Apache-2.0), detect-secrets 1.5 for
Discord, RFC 7468 and RFC 7519, and the services' own documentation.

Takes linear time: one regular expression finds the literals that keys start with, inside long runs of key characters,
and the patterns of that literal are tried there. None can read far and then fail: repetitions that something must
follow are bounded, or start at the edge of their own character class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memoria.ground.values import is_mixed, is_slug

# The kind of a key, how many characters follow its beginning at least, and the beginnings.
PREFIXES = (
    ("model-key", 20, "sk-ant- sk-proj- sk-svcacct- sk-admin- sk-None- sk-lf- xai- tvly- nvapi- jina_ fc- lsv2_pt_"),
    ("model-key", 20, "lsv2_sk_"),
    ("model-key", 30, "sk-or- gsk_ pplx- r8_ hf_ api_org_ csk- tgp_v1_ pcsk_ fw_ e2b_ co_api_"),
    ("github-token", 36, "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_"),
    ("gitlab-token", 20, "glpat- gldt- glrt- glrtr- glft- glptt- glcbt- glsoat- glagent- glimt- gloas- glffct-"),
    ("gitlab-token", 20, "GR1348941"),
    ("slack-token", 20, "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxe- xoxe. xoxc- xoxd- xapp-"),
    ("payment-key", 10, "sk_live_ sk_test_ sk_prod_ rk_live_ rk_test_ rk_prod_ rzp_live_ rzp_test_"),
    ("payment-key", 22, "live_ sq0atp- sq0csp- sq0idp- EAAAE APP_USR- FLWSECK- FLWSECK_TEST- pdl_live_ pdl_sdbx_"),
    ("shop-token", 32, "shpat_ shpca_ shppa_ shpss_ shptka_"),
    ("webhook-secret", 24, "whsec_ hookdeck_"),
    ("registry-token", 36, "npm_ rubygems_ oy2 cio API_KEY_jsr_ jsrp_"),
    ("registry-token", 24, "pypi-AgE dckr_pat_ dckr_oat_ AKCp"),
    ("cloud-token", 36, "doo_v1_ dop_v1_ dor_v1_ nfp_ nfc_ vck_ vca_ vcp_ cfut_ cfat_ fo1_ fm1r_ fm1a_ fm2_ v1.0-"),
    ("cloud-token", 36, "HRKU- LKAR"),
    ("cloud-token", 24, "rnd_ tskey- dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. pul- hvs. hvb. hvr. ya29."),
    ("cloud-token", 24, "GOCSPX- AIza scw_"),
    ("cloud-token", 32, "dapi sha256~ ABSK ops_eyJ AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1 st.prod. bkua_ bkct_ bkaj_"),
    ("cloud-token", 32, "CCIPAT_ CCIPRJ_"),
    ("database-key", 31, "sbp_ sb_secret_ pscale_tkn_ pscale_oauth_ pscale_pw_ napi_ xau_ fnA"),
    ("office-token", 36, "ntn_ lin_api_ lin_oauth_ figd_ figu_ ATATT3 ATCTT3 ATBB PMAK- CFPAT- sl.u. dop_ tfp_"),
    ("office-token", 36, "pat-na1- pat-eu1- sk.eyJ secret_"),
    ("cloud-key", 17, "LTAI"),
    ("monitor-key", 19, "NRAK- NRII- NRJS- NRBR-"),
    ("monitor-key", 30, "glsa_ glc_ sntrys_ sntryu_ phx_ phs_ hcaik_ hcxik_ dt0c01. dt0s16. sqp_ squ_ sqa_ snyk_"),
    ("monitor-key", 30, "sgp_ pdus+ lsq_"),
    ("mail-key", 30, "SG. xkeysib- xsmtpsib- re_ mlsn. MG."),
)  # fmt: skip

_END = r"(?![A-Za-z0-9])"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}" + _END


class Shape(NamedTuple):
    """The form of a service's key: its kind, the literals (``|`` between) in every key, and the pattern tried there.

    A ``rest`` in the pattern must look random; ``before`` is the number of the key's characters before the literal.
    """

    kind: str
    literals: str
    pattern: str
    before: int = 0


SHAPES = (
    Shape("private-key", "LS0tLS1CRUdJTi", r"LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM)[A-Za-z0-9+/]{40,}={0,2}"),
    Shape("aws-key", "A3T|AKIA|ASIA|ABIA|ACCA", r"A[A-Z0-9]{3}[A-Z2-7]{16}" + _END),
    Shape("azure-key", "Q~", r"(?<=[\w~.-]{3}\d)Q~[\w~.-]{31,34}", before=4),
    Shape("model-key", "sk-", r"sk-(?=[A-Za-z]*\d)[A-Za-z0-9]{32,}" + _END),
    Shape("mail-key", "key-", r"key-[a-f0-9]{32}" + _END),
    Shape("mail-key", "-us", r"(?<=[a-f0-9]{32})-us\d{1,2}" + _END, before=32),
    Shape("twilio-key", "SK", r"SK[0-9a-f]{32}" + _END),
    Shape("telegram-token", ":AA", r"(?<=\d{8}):AA[\w-]{32,33}(?![\w-])", before=8),
    Shape("discord-token", "M|N|O", r"[MNO][A-Za-z\d_-]{22,27}\.[\w-]{6}\.[\w-]{27,40}"),
    Shape("terraform-token", ".atlasv1.", r"(?<=[A-Za-z0-9]{14})\.atlasv1\.[\w=-]{60,70}", before=14),
    Shape("office-token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    Shape("payment-key", "access-production-|access-development-|access-sandbox-", rf"access-[a-z]+-{_UUID}"),
    Shape("launchdarkly-key", "sdk-|mob-|api-", rf"[a-z]{{3}}-{_UUID}"),
    Shape("facebook-token", "EAA", r"(?<![+/])EAA[A-Za-z][A-Za-z0-9]{80,}" + _END),
    Shape("webhook", "hooks.zapier.com/", r"hooks\.zapier\.com/hooks/catch/\d{4,12}/\w{5,}"),
    Shape(
        "webhook",
        "hooks.slack.com/|hooks/|webhook/|webhooks/|webhookb2/|IncomingWebhook/|reset/|verify/|invite/|confirm/",
        r"[A-Za-z.]{4,16}2?/(?:[\w.@%-]{1,80}/){0,4}(?P<rest>[\w-]{20,}(?:/[\w-]{20,})?)",
    ),
    Shape("office-token", "pk_", r"pk_\d{6,12}_[A-Z0-9]{32}"),
    Shape("jwt", "eyJ", r"(?:(?<![\w-])|(?<=\\[nrt]))eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3}"),
)  # fmt: skip

# No letter or digit may precede a key, except the ``n`` of an escaped line break (the two characters ``\n``).
_EDGE = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrt]))"
_REST = r"[\w~+/=%-]+(?:\.[\w~+/=%-]{8,})*"
_Tried = list[tuple[str, int, re.Pattern[str]]]


def _group_by_literal() -> dict[str, _Tried]:
    """Return each beginning, longest first, with the kinds, the least lengths of the rest and the patterns to try."""
    tried = [(literal, (kind, least, re.compile(re.escape(literal) + f"(?P<rest>{_REST})", re.ASCII)))
             for kind, least, literals in PREFIXES for literal in literals.split()]  # fmt: skip
    tried += [(literal, (shape.kind, 0, re.compile(shape.pattern, re.ASCII)))
              for shape in SHAPES if not shape.before for literal in shape.literals.split("|")]  # fmt: skip
    longest = sorted({literal for literal, _ in tried}, key=lambda text: (-len(text), text))
    return {literal: [each for own, each in tried if literal.startswith(own)] for literal in longest}


# What must follow the literals with which too many ordinary words begin.
_AHEAD = dict.fromkeys("MNO", r"(?=[\w-]{22,27}\.)") | {"pat": r"(?=[A-Za-z0-9]{14}\.)"}


_AT = _group_by_literal()
BEGINS = re.compile(
    _EDGE + "(?:" + "|".join(re.escape(literal) + _AHEAD.get(literal, "") for literal in _AT) + ")", re.ASCII
)
_AROUND = tuple((shape, re.compile(shape.pattern, re.ASCII)) for shape in SHAPES if shape.before)


def keys(text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of the keys in one run of key characters, ``text[start:end]``, from left to right.

    A run without a match of ``BEGINS`` holds no key.
    """
    begun = BEGINS.search(text, start, end)
    while begun:
        place = begun.end()
        for kind, least, pattern in _AT[begun.group()]:
            match = pattern.match(text, begun.start(), end)
            rest = match.groupdict().get("rest") if match else None
            if match and (rest is None or (len(rest) >= least and _is_random(rest))):
                yield match.start(), match.end(), kind
                place = match.end()
                break
        begun = BEGINS.search(text, place, end)


def _is_random(rest: str) -> bool:
    if rest.isalpha():
        return is_mixed(rest, 0.2)
    return any(map(str.isdigit, rest)) and not is_slug(rest)


def keys_around(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of the keys in a text that have their literal in the middle."""
    for shape, pattern in _AROUND:
        place = 0  # where no literal stands, because each has a part of its key before it
        while (place := text.find(shape.literals, place + 1)) > 0:
            if match := pattern.match(text, place):
                yield place - shape.before, match.end(), shape.kind
