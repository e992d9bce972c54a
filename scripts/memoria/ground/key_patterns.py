"""Key patterns: the formats of the keys of common services, as one table with sources.

A pattern identifies a key without a word like *password* near it. Lengths are lower bounds where services have changed
theirs before, so that longer keys of the future are found as well.
Knows the formats of keys; ``redact`` knows marks and settings, ``assignments`` the words around a key.

Sources: *gitleaks* is the default rule set of gitleaks 8 (MIT), *betterleaks* the one that MongoDB's Kingfisher 1.5
ships (Apache-2.0), both by rule name; *docs* is the service's own documentation of its formats.

Takes linear time: one regular expression finds the literals that keys start with, inside long runs of key characters,
and the patterns of that literal are tried there. None can read far and then fail: repetitions that something must
follow are bounded, or start at the edge of their own character class.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Shape:
    """The format of a service's key: its ``kind`` for the mark, and the ``literals`` (``|`` between) in every key.

    ``pattern`` is tried at the literal; ``before`` is the number of the key's characters before the literal.
    """

    kind: str
    literals: str
    pattern: str
    source: str
    before: int = 0


_END = r"(?![A-Za-z0-9])"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}" + _END

SHAPES = (
    Shape(
        "private-key",
        "LS0tLS1CRUdJTi",
        r"LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM)[A-Za-z0-9+/]{40,}={0,2}",
        "docs: RFC 7468, in base64",
    ),
    Shape("aws-key", "A3T|AKIA|ASIA|ABIA|ACCA", r"A[A-Z0-9]{3}[A-Z2-7]{16}" + _END, "gitleaks aws-access-token"),
    Shape("aws-key", "ABSK", r"ABSK[A-Za-z0-9+/]{100,}={0,2}", "betterleaks aws-amazon-bedrock-api-key-long-lived"),
    Shape("gcp-key", "AIza", r"AIza[\w-]{35}", "gitleaks gcp-api-key"),
    Shape("gcp-key", "GOCSPX-", r"GOCSPX-[\w-]{24,}", "docs: Google OAuth client secret"),
    Shape("gcp-key", "ya29.", r"ya29\.[\w.-]{20,}", "docs: Google OAuth access token"),
    Shape("azure-key", "Q~", r"(?<=[\w~.-]{3}\d)Q~[\w~.-]{31,34}", "gitleaks azure-ad-client-secret", before=4),
    Shape("github-token", "ghp_|gho_|ghu_|ghs_|ghr_", r"gh[pousr]_[A-Za-z0-9]{36,}", "gitleaks github-*"),
    Shape("github-token", "github_pat_", r"github_pat_\w{60,}", "gitleaks github-fine-grained-pat"),
    Shape(
        "gitlab-token",
        "glpat-|gldt-|glrt-|glft-|glptt-|glcbt-|glsoat-|glagent-|glimt-|gloas-|glffct-",
        r"gl[a-z]{2,5}-[\w.-]{20,}",
        "gitleaks gitlab-*",
    ),
    Shape("gitlab-token", "GR1348941", r"GR1348941[\w-]{20}", "gitleaks gitlab-rrt"),
    Shape(
        "slack-token",
        "xoxb-|xoxp-|xoxa-|xoxr-|xoxs-|xoxo-|xoxe-|xoxe.|xoxc-|xoxd-",
        r"xox[a-z](?:[.-][A-Za-z0-9%]+){2,}",
        "gitleaks slack-*-token",
    ),
    Shape("slack-token", "xapp-", r"xapp-\d-[A-Za-z0-9]+-\d+-[A-Za-z0-9]+", "gitleaks slack-app-token"),
    Shape(
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{30,}",
        "gitleaks slack-webhook-url",
    ),
    Shape(
        "stripe-key",
        "sk_live_|sk_test_|sk_prod_|rk_live_|rk_test_|rk_prod_",
        r"[sr]k_[a-z]{4}_[A-Za-z0-9]{10,}",
        "gitleaks stripe-access-token",
    ),
    Shape("webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/]{24,}={0,2}", "docs: Stripe and Svix signing secrets"),
    Shape("anthropic-key", "sk-ant-", r"sk-ant-[\w-]{20,}", "gitleaks anthropic-api-key, anthropic-admin-api-key"),
    Shape("openrouter-key", "sk-or-", r"sk-or-v\d-[0-9a-f]{40,}", "betterleaks openrouter-api-key"),
    Shape(
        "openai-key",
        "sk-proj-|sk-svcacct-|sk-admin-|sk-None-",
        r"sk-[A-Za-z]{4,7}-[\w-]{20,}",
        "gitleaks openai-api-key",
    ),
    Shape("openai-key", "sk-", r"sk-(?=[A-Za-z]*\d)[A-Za-z0-9]{32,}" + _END, "gitleaks openai-api-key (old form)"),
    Shape("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,}", "betterleaks groq-api-key"),
    Shape("xai-key", "xai-", r"xai-[\w-]{60,}", "betterleaks xai-api-key"),
    Shape("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,}", "gitleaks perplexity-api-key"),
    Shape("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}" + _END, "betterleaks replicate-api-token"),
    Shape("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{30,}", "gitleaks huggingface-access-token"),
    Shape("huggingface-token", "api_org_", r"api_org_[A-Za-z]{34}", "gitleaks huggingface-organization-api-token"),
    Shape("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}", "gitleaks npm-access-token"),
    Shape("pypi-token", "pypi-AgE", r"pypi-AgE[\w-]{50,}", "gitleaks pypi-upload-token"),
    Shape("rubygems-key", "rubygems_", r"rubygems_[a-f0-9]{48}", "gitleaks rubygems-api-token"),
    Shape("docker-token", "dckr_", r"dckr_[a-z]{3}_[\w-]{24,}", "betterleaks dockerhub-personal-access-token"),
    Shape("twilio-key", "SK", r"SK[0-9a-f]{32}" + _END, "gitleaks twilio-api-key"),
    Shape("sendgrid-key", "SG.", r"SG\.[\w-]{16,32}\.[\w-]{30,64}", "gitleaks sendgrid-api-token"),
    Shape("mailgun-key", "key-", r"key-[a-f0-9]{32}" + _END, "gitleaks mailgun-private-api-token"),
    Shape(
        "mailchimp-key",
        "-us",
        r"(?<=[a-f0-9]{32})-us\d{1,2}" + _END,
        "gitleaks mailchimp-api-key",
        before=32,
    ),
    Shape("brevo-key", "xkeysib-", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}", "gitleaks sendinblue-api-token"),
    Shape(
        "telegram-token",
        ":AA",
        r"(?<=\d{8}):AA[\w-]{32,33}(?![\w-])",
        "gitleaks telegram-bot-api-token",
        before=8,
    ),
    Shape(
        "discord-token",
        "M|N|O",
        r"[MNO][A-Za-z\d_-]{22,27}\.[\w-]{6}\.[\w-]{27,40}",
        "detect-secrets 1.5 discord",
    ),
    Shape(
        "discord-webhook",
        "discord.com/api/webhooks/|discordapp.com/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/\d{10,25}/[\w-]{40,}",
        "docs: Discord webhooks",
    ),
    Shape(
        "teams-webhook",
        "/IncomingWebhook/",
        r"(?<=[\w-]{36})/IncomingWebhook/[a-z0-9]{32}(?:/[\w-]{36})?",
        "gitleaks microsoft-teams-webhook",
        before=36,
    ),
    Shape(
        "zapier-webhook",
        "hooks.zapier.com/",
        r"hooks\.zapier\.com/hooks/catch/\d{4,12}/\w{5,}",
        "docs: Zapier catch hooks",
    ),
    Shape("heroku-key", "HRKU-", r"HRKU-[\w-]{50,}", "betterleaks heroku-api-key-v2"),
    Shape("digitalocean-token", "doo_v1_|dop_v1_|dor_v1_", r"do[opr]_v1_[a-f0-9]{64}", "gitleaks digitalocean-*"),
    Shape("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?", "gitleaks databricks-api-token"),
    Shape("shopify-token", "shpat_|shpca_|shppa_|shpss_", r"shp[a-z]{2}_[a-fA-F0-9]{32}", "gitleaks shopify-*"),
    Shape("square-token", "sq0", r"sq0[a-z]{3}-[\w-]{22,}", "gitleaks square-access-token"),
    Shape("cloudflare-token", "cfut_|cfat_", r"cf[ua]t_[A-Za-z0-9]{48}", "betterleaks cloudflare-api-key.2"),
    Shape("cloudflare-token", "v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{140,}", "gitleaks cloudflare-origin-ca-key"),
    Shape("atlassian-token", "ATATT3|ATCTT3", r"AT[AC]TT3[\w=-]{60,}", "gitleaks atlassian-api-token"),
    Shape("notion-token", "ntn_", r"ntn_[A-Za-z0-9]{40,}", "gitleaks notion-api-token"),
    Shape("linear-key", "lin_api_|lin_oauth_", r"lin_[a-z]+_[A-Za-z0-9]{40,}", "gitleaks linear-api-key"),
    Shape("figma-token", "figd_", r"figd_[\w-]{38,}", "betterleaks figma-personal-access-token"),
    Shape("supabase-key", "sbp_|sb_secret_", r"(?:sbp_|sb_secret_)[\w-]{31,}", "betterleaks supabase-*"),
    Shape("vercel-token", "vck_|vca_", r"vc[ka]_[\w-]{50,}", "betterleaks vercel-*"),
    Shape("render-key", "rnd_", r"rnd_[A-Za-z0-9]{28,}", "betterleaks render-api-key"),
    Shape("tailscale-key", "tskey-", r"tskey-[a-z]+-[\w-]{20,}", "betterleaks tailscale-api-key.1"),
    Shape("flyio-token", "fo1_", r"fo1_[\w-]{43}", "gitleaks flyio-access-token"),
    Shape("flyio-token", "fm1|fm2_", r"fm[12][ar]?_[A-Za-z0-9+/]{100,}={0,3}", "gitleaks flyio-access-token"),
    Shape("grafana-token", "glsa_", r"glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}", "gitleaks grafana-service-account-token"),
    Shape("grafana-token", "glc_", r"glc_[A-Za-z0-9+/]{32,}={0,2}", "gitleaks grafana-cloud-api-token"),
    Shape("newrelic-key", "NRAK-|NRII-|NRJS-", r"NR[A-Z]{2}-[A-Za-z0-9-]{19,}", "gitleaks new-relic-*"),
    Shape("sentry-token", "sntrys_|sntryu_", r"sntry[su]_[A-Za-z0-9+/=_]{60,}", "gitleaks sentry-*-token"),
    Shape("posthog-key", "phx_", r"phx_[\w-]{41,}", "betterleaks posthog-personal-api-key"),
    Shape("postman-key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}", "gitleaks postman-api-token"),
    Shape("planetscale-token", "pscale_", r"pscale_(?:tkn|oauth|pw)_[\w=.-]{32,}", "gitleaks planetscale-*"),
    Shape(
        "doppler-token",
        "dp.pt.|dp.st.|dp.ct.|dp.sa.",
        r"dp\.(?:pt|st|ct|sa)\.[\w.-]{40,}",
        "gitleaks doppler-api-token",
    ),
    Shape("pulumi-token", "pul-", r"pul-[a-f0-9]{40}" + _END, "gitleaks pulumi-api-token"),
    Shape("vault-token", "hvs.|hvb.", r"hv[sb]\.[\w-]{90,}", "gitleaks vault-service-token, vault-batch-token"),
    Shape(
        "terraform-token",
        ".atlasv1.",
        r"(?<=[A-Za-z0-9]{14})\.atlasv1\.[\w=-]{60,70}",
        "gitleaks hashicorp-tf-api-token",
        before=14,
    ),
    Shape(
        "onepassword-token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/]{200,}={0,3}", "gitleaks 1password-service-account-token"
    ),
    Shape(
        "plaid-token",
        "access-production-|access-development-|access-sandbox-",
        rf"access-[a-z]+-{_UUID}",
        "gitleaks plaid-api-token",
    ),
    Shape("circleci-token", "CCIPAT_", r"CCIPAT_[A-Za-z0-9]{16,}_[a-f0-9]{40}", "docs: CircleCI personal tokens"),
    Shape("launchdarkly-key", "sdk-", rf"sdk-{_UUID}", "docs: LaunchDarkly SDK keys"),
    Shape("nuget-key", "oy2", r"oy2[a-z0-9]{43}" + _END, "betterleaks nuget-api-key"),
    Shape("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}", "gitleaks age-secret-key"),
    Shape("openshift-token", "sha256~", r"sha256~[\w-]{43}", "gitleaks openshift-user-token"),
    Shape("artifactory-key", "AKCp", r"AKCp[A-Za-z0-9]{69}" + _END, "gitleaks artifactory-api-key"),
    Shape("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}", "gitleaks airtable-personnal-access-token"),
    Shape("alibaba-key", "LTAI", r"LTAI[A-Za-z0-9]{17,21}" + _END, "gitleaks alibaba-access-key-id"),
    Shape(
        "facebook-token", "EAA", r"(?<![+/])EAA[A-Za-z][A-Za-z0-9]{80,}" + _END, "gitleaks facebook-page-access-token"
    ),
    Shape("tavily-key", "tvly-", r"tvly-[A-Za-z0-9-]{28,}", "docs: Tavily"),
    Shape(
        "jwt", "eyJ", r"(?:(?<![\w-])|(?<=\\[nrt]))eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){0,3}", "RFC 7519; gitleaks jwt"
    ),
)


# No letter or digit may precede a key, except the ``n`` of an escaped line break (the two characters ``\n``).
_EDGE = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"
_Tried = list[tuple[str, re.Pattern[str]]]


def _by_literal() -> dict[str, _Tried]:
    """Return each starting literal, longest first, with the kinds and patterns to try there."""
    table: dict[str, _Tried] = {}
    starting = [shape for shape in SHAPES if not shape.before]
    literals = {literal for shape in starting for literal in shape.literals.split("|")}
    for literal in sorted(literals, key=lambda text: (-len(text), text)):
        table[literal] = [
            (shape.kind, re.compile(shape.pattern, re.ASCII))
            for shape in starting
            if any(literal.startswith(own) for own in shape.literals.split("|"))
        ]
    return table


# What must follow the literals with which too many ordinary words begin.
_AHEAD = dict.fromkeys("MNO", r"(?=[\w-]{22,27}\.)") | {"pat": r"(?=[A-Za-z0-9]{14}\.)"}


_AT = _by_literal()
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
        for kind, pattern in _AT[begun.group()]:
            if match := pattern.match(text, begun.start(), end):
                yield match.start(), match.end(), kind
                place = match.end()
                break
        begun = BEGINS.search(text, place, end)


def keys_around(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of the keys in a text that have their literal in the middle."""
    for shape, pattern in _AROUND:
        place = text.find(shape.literals)
        while place >= 0:
            if match := pattern.match(text, place):
                yield place - shape.before, match.end(), shape.kind
            place = text.find(shape.literals, place + 1)
