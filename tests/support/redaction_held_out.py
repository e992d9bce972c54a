"""The second labelled set of redaction: written before its rules were looked at, to say what they do on new forms.

Secrets in the forms developers paste (environment files, headers, manifests, logs, shell history), and harmless text
that looks like them. No value stands here: ``«b62:36»`` is 36 letters and digits drawn at run time, and a broken bar in
a prefix (taken out) keeps push scanners from seeing a key. What stands between ``⟦`` and ``⟧`` is a piece that must not
survive.
"""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Iterator

from redaction import Example

_LOWER = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"
_ALPHABETS = {
    "hex": _DIGITS + "abcdef",
    "HEX": _DIGITS + "ABCDEF",
    "num": _DIGITS,
    "low": _LOWER + _DIGITS,
    "UP": _LOWER.upper() + _DIGITS,
    "b32": _LOWER.upper() + "234567",
    "b62": _LOWER + _LOWER.upper() + _DIGITS,
    "url": _LOWER + _LOWER.upper() + _DIGITS + "-_",
    "b64": _LOWER + _LOWER.upper() + _DIGITS + "+/",
    "pw": _LOWER + _LOWER.upper() + _DIGITS + "!#%*?^",
}
_WORDS = [
    "correct",
    "harbor",
    "velvet",
    "otter",
    "spiral",
    "lantern",
    "maple",
    "quartz",
    "anchor",
    "pepper",
    "summit",
    "violin",
]
_DRAW = re.compile(r"«(\w+):(\d+)»")
_PIECE = re.compile(r"⟦(.*?)⟧", re.DOTALL)

SECRETS: list[tuple[str, str]] = [
    # environment files and shell history
    ("env", "DATABASE_PASSWORD=⟦«pw:18»⟧\nDATABASE_PORT=5432\n"),
    ("env", "# .env.production\nSESSION_SECRET='⟦«b62:32»⟧'\nNODE_ENV=production"),
    ("env", "export SENDGRID_API_KEY=⟦SG¦.«url:22».«url:43»⟧"),
    ("env", "NEXTAUTH_SECRET=⟦«b64:43»=⟧\nNEXTAUTH_URL=http://localhost:3000"),
    ("env", "STRIPE_SECRET_KEY=⟦sk¦_live_«b62:24»⟧"),
    ("env", "STRIPE_WEBHOOK_SECRET=⟦wh¦sec_«b62:32»⟧"),
    ("env", "TWILIO_AUTH_TOKEN=⟦«hex:32»⟧"),
    ("env", "MAILGUN_API_KEY=⟦key-«hex:32»⟧"),
    ("env", "DD_API_KEY=⟦«hex:32»⟧ DD_SITE=datadoghq.eu datadog-agent run"),
    ("shell", "  412  mysql -u root -p⟦«b62:14»⟧ shop < dump.sql"),
    ("shell", "$ PGPASSWORD=⟦«pw:12»⟧ psql -h db.internal -U app shop"),
    ("shell", "sshpass -p '⟦«pw:14»⟧' ssh deploy@10.0.3.7 uptime"),
    ("shell", "docker login ghcr.io -u octo --password ⟦gh¦p_«b62:36»⟧"),
    ("shell", "echo ⟦«b62:20»⟧ | sudo -S systemctl restart nginx"),
    ("shell", "redis-cli -h cache.internal -a ⟦«b62:24»⟧ ping"),
    ("shell", "curl -u admin:⟦«pw:13»⟧ https://jenkins.internal/job/build/api/json"),
    ("shell", "openssl enc -aes-256-cbc -d -in backup.enc -pass pass:⟦«b62:16»⟧"),
    # headers
    ("header", "curl -H 'Authorization: Bearer ⟦«url:48»⟧' https://api.example.com/v1/me"),
    ("header", 'curl -sS https://api.anthropic.com/v1/messages -H "x-api-key: ⟦sk-¦ant-api03-«url:93»AA⟧"'),
    ("header", 'fetch(url, { headers: { "X-Auth-Token": "⟦«hex:40»⟧" } })'),
    ("header", "Authorization: Basic ⟦«basic:16»⟧"),
    ("header", "> Cookie: theme=dark; sessionid=⟦«low:32»⟧; lang=de"),
    ("header", "< Set-Cookie: connect.sid=⟦s%3A«url:32».«b62:43»⟧; Path=/; HttpOnly"),
    ("header", "PRIVATE-TOKEN: ⟦gl¦pat-«url:20»⟧"),
    ("header", "Proxy-Authorization: Basic ⟦«basic:14»⟧"),
    ("header", "authorization: Token ⟦«hex:40»⟧"),
    # JSON, YAML, TOML, INI, code
    ("json", '{"user": "svc", "password": "⟦«pw:16»⟧", "retries": 3}'),
    ("json", '{\\"clientId\\": \\"web\\", \\"clientSecret\\": \\"⟦«url:40»⟧\\"}'),
    ("json", '{"auths": {"registry.internal:5000": {"auth": "⟦«basic:18»⟧"}}}'),
    ("json", '{"access_token":"⟦ya29¦.a0«url:120»⟧","expires_in":3599}'),
    ("json", '{"refresh_token": "⟦1//0«url:60»⟧", "token_uri": "https://oauth2.googleapis.com/token"}'),
    ("yaml", "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  password: ⟦«b64:22»==⟧\n"),
    ("yaml", "    environment:\n      POSTGRES_PASSWORD: ⟦«b62:20»⟧\n      POSTGRES_USER: app\n"),
    ("yaml", "      - name: API_TOKEN\n        value: ⟦«b62:40»⟧\n"),
    ("yaml", "      - MYSQL_ROOT_PASSWORD=⟦«pw:12»⟧\n      - MYSQL_DATABASE=shop\n"),
    ("toml", '[registries.internal]\ntoken = "⟦«b62:32»⟧"\n'),
    ("toml", '[connections]\nsecret_access_key = "⟦«b64:40»⟧"\nregion = "eu-central-1"'),
    ("ini", "[default]\naws_access_key_id = ⟦AK¦IA«b32:16»⟧\naws_secret_access_key = ⟦«b64:40»⟧\n"),
    ("ini", "//npm.example.com/:_authToken=⟦np¦m_«b62:36»⟧"),
    ("ini", "[pypi]\nusername = __token__\npassword = ⟦py¦pi-AgEIcHlwaS5vcmc«url:140»⟧"),
    ("ini", "machine api.heroku.com\n  login me@example.com\n  password ⟦«uuid:1»⟧\n"),
    ("code", "client = OpenAI(api_key='⟦sk-¦proj-«url:74»T3¦BlbkFJ«url:74»⟧')"),
    ("code", 'const jwtSecret = process.env.JWT_SECRET || "⟦«pw:20»⟧";'),
    ("code", "app.config['SECRET_KEY'] = '⟦«hex:48»⟧'"),
    ("code", "conn = psycopg2.connect(host='db', dbname='shop', user='app', password='⟦«pw:14»⟧')"),
    ("code", 'login(token="⟦h¦f_«b62:34»⟧")  # huggingface'),
    (
        "code",
        'var connectionString = "Server=tcp:shop.database.windows.net;User ID=app;Password=⟦«b62:18»⟧;Encrypt=True";',
    ),
    ("code", "signer = hmac.new(b'⟦«b62:28»⟧', body, 'sha256')  # webhook secret"),
    # connection strings and URLs
    ("url", "postgresql://app:⟦«pw2:16»⟧@db.internal:5432/shop?sslmode=require"),
    ("url", "mongodb+srv://svc:⟦«b62:20»⟧@cluster0.ab1cd.mongodb.net/shop"),
    ("url", "rediss://:⟦«b62:32»⟧@cache.internal:6380/0"),
    ("url", "amqps://worker:⟦«b62:24»⟧@rabbit.internal/vhost"),
    ("url", "git remote set-url origin https://oauth2:⟦«url:26»⟧@git.internal/team/app.git"),
    ("url", "https://hooks.sl¦ack.com/services/⟦T«UP:9»/B«UP:9»/«b62:24»⟧"),
    ("url", "https://discord.com/api/web¦hooks/«num:18»/⟦«url:68»⟧"),
    ("url", "https://outlook.office.com/webhook/«uuid:1»@«uuid:1»/IncomingWebhook/⟦«hex:32»⟧/«uuid:1»"),
    ("url", "https://shop.blob.core.windows.net/c/f.zip?sv=2023-11-03&se=2026-12-01&sr=b&sp=r&sig=⟦«b62:41»%3D⟧"),
    ("url", "https://bucket.s3.amazonaws.com/k?X-Amz-Credential=AK¦IA«b32:16»%2F20261121&X-Amz-Signature=⟦«hex:64»⟧"),
    ("url", "https://api.telegram.org/bot⟦«num:10»:AA«url:33»⟧/sendMessage"),
    ("url", "https://app.internal/callback?code=ok&access_token=⟦«url:40»⟧&state=7"),
    ("url", "https://«hex:32»:⟦«hex:32»⟧@sentry.internal/4"),
    (
        "azure",
        "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=⟦«b64:86»==⟧;EndpointSuffix=core.windows.net",
    ),
    ("azure", "Endpoint=sb://shop.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey=⟦«b64:43»=⟧"),
    # tokens in prose and logs
    ("token", "I rotated it, the new one is ⟦gi¦thub_pat_«b62:22»_«b62:59»⟧, please try again"),
    ("token", "slack bot: ⟦xo¦xb-«num:12»-«num:13»-«b62:24»⟧"),
    ("token", "got ⟦ey¦JhbGciOiJIUzI1NiJ9.eyJzdWIiOiI«b62:30».«url:43»⟧ back from /login"),
    ("token", "GOOGLE MAPS: ⟦AI¦zaSy«url:33»⟧"),
    ("token", "fly deploy -t ⟦Fm¦1r_«b62:60»⟧"),
    ("token", "dop¦_v1_ is what DigitalOcean tokens begin with: ⟦do¦p_v1_«hex:64»⟧"),
    ("token", "vault login ⟦hv¦s.«url:90»⟧"),
    ("token", "SUPABASE_SERVICE_ROLE_KEY is ⟦sb¦_secret_«url:22»_«url:8»⟧"),
    ("token", "linear: ⟦lin¦_api_«b62:40»⟧  notion: ⟦nt¦n_«b62:46»⟧"),
    ("ci", "##[debug]Exporting env: DEPLOY_KEY=⟦«b62:40»⟧ (from environment)"),
    ("ci", "Step 4/9 : ARG NPM_TOKEN=⟦«uuid:1»⟧"),
    ("ci", 'terraform: + password = "⟦«pw:16»⟧" -> (sensitive)'),
    ("ci", "helm upgrade shop ./chart --set image.tag=1.4.2 --set db.password=⟦«b62:16»⟧"),
    ("prose", "the admin password is ⟦«pw:12»⟧ on staging"),
    ("prose", "Passwort: ⟦«pw:12»⟧ (bitte nicht weitergeben)"),
    ("prose", "login with user demo and pass ⟦«b62:12»⟧ then click save"),
    (
        "key",
        "-----BEGIN OPEN¦SSH PRIVATE KEY-----\n⟦«b64:70»\n«b64:70»\n«b64:40»=⟧\n-----END OPEN¦SSH PRIVATE KEY-----",
    ),
    (
        "key",
        'PRIVATE_KEY="-----BEGIN RSA¦ PRIVATE KEY-----\\n⟦«b64:64»\\n«b64:64»⟧\\n-----END RSA¦ PRIVATE KEY-----\\n"',
    ),
    ("key", "AGE-SECRET¦-KEY-1⟦«UP:58»⟧"),
    ("key", "[Interface]\nPrivateKey = ⟦«b64:43»=⟧\nAddress = 10.8.0.2/24"),
    ("key", "deployer wallet PRIVATE_KEY=0x⟦«hex:64»⟧"),
    ("seed", "mnemonic: ⟦«words:12»⟧"),
    ("seed", 'my seed phrase is "⟦«words:12»⟧", do not lose it'),
]

PLAIN: list[tuple[str, str]] = [
    ("commit", "git checkout «hex:40» && git log -1 «hex:12»"),
    ("commit", "From «hex:40» Mon Sep 17 00:00:00 2001"),
    ("digest", "sha256:«hex:64» docker.io/library/python:3.11-slim"),
    ("digest", "FROM node:22@sha256:«hex:64» AS build"),
    ("digest", '"integrity": "sha512-«b64:86»=="'),
    ("digest", "d41d8cd98f00b204e9800998ecf8427e  empty.txt"),
    ("digest", 'ETag: "«hex:32»"\nContent-Length: 512'),
    ("digest", "go.sum: golang.org/x/net v0.30.0 h1:«b64:43»="),
    ("uuid", "session «uuid:1» resumed after compaction"),
    ("uuid", 'parentUuid: "«uuid:1»", uuid: "«uuid:1»"'),
    ("uuid", "https://app.internal/projects/«uuid:1»/settings"),
    ("path", "/home/ana/.cache/uv/wheels-v5/pypi/httpx/0.28.1-py3-none-any/httpx/_transports/default.py:104"),
    (
        "path",
        "node_modules/.pnpm/@babel+helper-plugin-utils@7.25.9/node_modules/@babel/helper-plugin-utils/lib/index.js",
    ),
    ("path", "C:\\Users\\ana\\AppData\\Local\\Programs\\Python\\Python311\\Lib\\site-packages\\requests\\sessions.py"),
    ("path", "secrets/production/database-password.yaml.example"),
    ("code", "password = getpass.getpass('Password: ')"),
    ("code", "const token = await getAccessToken({ scope: 'read' });"),
    ("code", "api_key = os.environ['OPENAI_API_KEY']"),
    ("code", "if (password !== confirmPassword) throw new PasswordMismatchError();"),
    ("code", "def verify_password(password: str, hashed_password: bytes) -> bool:"),
    ("code", "token: Optional[str] = None, secret: Union[str, bytes, None] = None"),
    ("code", "user.passwordResetToken = generateRandomToken(resetTokenLength);"),
    ("code", 'private static final String TOKEN_HEADER_NAME = "X-Auth-Token";'),
    ("code", "self.secret_key = self.load_secret_key_from_keyring()"),
    ("code", "tokens = tokenizer.encode(text, max_tokens=4096)"),
    ("code", "passwordField: TextFieldController<PasswordValidator>,"),
    ("code", "assert response.headers['Authorization'].startswith('Bearer ')"),
    ("code", "secretName: registry-credentials-production"),
    ("code", "key={`${item.category}-${item.createdAt}`}"),
    ("code", "primary_key=True, foreign_key='accounts_user.organisation_id'"),
    ("env", "DATABASE_PASSWORD=${DB_PASSWORD:?set it}\nAPI_KEY=$(pass show api)"),
    ("env", "API_KEY=your-api-key-here\nSECRET_KEY=changeme"),
    ("env", "GITHUB_TOKEN=${{ secrets.GITHUB_TOKEN }}"),
    ("env", "STRIPE_SECRET_KEY=sk_test_...\nSTRIPE_PUBLISHABLE_KEY=pk_test_xxxxxxxxxxxxxxxxxxxxxxxx"),
    ("env", "PASSWORD_MIN_LENGTH=12\nTOKEN_EXPIRY_SECONDS=3600\nSECRET_ROTATION_DAYS=30"),
    ("env", "AUTH_TOKEN=<token from the dashboard>"),
    ("env", "KEYCLOAK_URL=https://auth.internal/realms/production-environment"),
    ("url", "https://user@git.internal:8443/team/application-frontend.git"),
    ("url", "postgresql://localhost:5432/shop_development?application_name=worker"),
    ("url", "postgres://user:password@localhost:5432/db"),
    ("url", "https://docs.google.com/document/d/«url:44»/edit#heading=h.«low:12»"),
    ("url", "https://www.youtube.com/watch?v=«url:11»&list=PL«url:32»"),
    ("url", "https://github.com/octo/app/compare/«hex:40»...«hex:40»"),
    ("url", "https://cdn.internal/assets/index-«url:8».js?v=«hex:20»"),
    ("url", "https://s3.eu-central-1.amazonaws.com/shop-artifacts/build/2026-11-21/app-1.4.2.tar.gz"),
    # A secret in the first run; but it names a key and is none.
    ("id", '{"type": "service_account", "private_key_id": "«hex:40»", "project_id": "shop"}'),
    ("id", "toolu_01«b62:22» finished, msg_01«b62:22» next"),
    ("id", "req_011C«b62:20» took 4.1 s"),
    ("id", "arn:aws:iam::123456789012:role/eks-node-group-production-eu"),
    ("id", "trace-id: «hex:32» span-id: «hex:16»"),
    ("id", "X-Request-Id: «uuid:1»\nX-Trace: «hex:32»"),
    ("id", "Google Analytics G-«UP:10», container GTM-«UP:7»"),
    ("id", "customer cus_«b62:14» has subscription sub_«b62:24» on price_«b62:24»"),
    ("id", "pod/shop-api-«low:10»-«low:5» restarted 3 times"),
    ("id", "layer «hex:12»: Pull complete"),
    ("id", "publishable pk_live_«b62:24» is meant to be public"),
    ("key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI«b64:43» ana@laptop"),
    ("key", "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE«b64:88»==\n-----END PUBLIC KEY-----"),
    ("key", "SHA256:«b64:43» ana@laptop (ED25519)"),
    ("key", "gpg: key «HEX:16»: public key imported"),
    ("prose", "The password must have at least twelve characters and the token expires after an hour."),
    ("prose", "the secret is to keep functions short"),
    ("prose", "Passwords: see 1Password, vault Engineering-Production"),
    ("prose", "token count 128000, cache_read_input_tokens: 4096123"),
    ("prose", "Basic authentication is off; Bearer authentication-required responses are retried"),
    ("prose", "pass the argument --password-stdin and pipe the file in"),
    ("prose", "press the key ArrowDown, then key Enter; cookie banner is gone"),
    ("log", "2026-11-21T10:44:01.123456Z INFO auth: token refreshed for user 48151623 (expires_in=3599)"),
    ("log", "FAILED tests/test_auth.py::test_password_reset_token_is_single_use_and_expires_after_an_hour"),
    ("log", "ModuleNotFoundError: No module named 'sklearn.neighbors.typedefs_generated_wrapper'"),
    ("log", "Compiled /_next/static/chunks/pages/_app-«hex:16».js in 2.4s (1834 modules)"),
    ("css", "data:image/png;base64,iVBORw0KGgo«b64:120»"),
    ("css", "color: #1f2937; background: #f9fafb; --token-spacing-large: 24px"),
    ("lock", 'resolved "https://registry.yarnpkg.com/lodash/-/lodash-4.17.21.tgz#«hex:40»"'),
    ("lock", 'checksum = "«hex:64»"'),
    ("lock", "    --hash=sha256:«hex:64» \\"),
    ("words", "abandon the plan about merging; above all keep the absent branch abstract and able"),
    ("number", "IBAN-like order number 4929 1234 5678 9012 and phone +49 30 901820"),
    ("regex", r"_TOKEN = re.compile(r'^[A-Za-z0-9_\-]{20,}\.[A-Za-z0-9_\-]{6,}$')"),
]


def held_out(label: str, seed: int = 7) -> list[Example]:
    """All examples with this label (``secret`` or ``plain``), their values drawn with ``seed``."""
    return drawn(SECRETS if label == "secret" else PLAIN, seed, "held-out")


def drawn(rows: list[tuple[str, str]], seed: int, form: str) -> list[Example]:
    """Return the examples of a set in this notation: kinds and templates, whose values are drawn with ``seed``."""
    draw = random.Random(seed)
    return [_example(kind, text.replace("¦", ""), form, draw) for kind, text in rows]


def _example(kind: str, template: str, form: str, draw: random.Random) -> Example:
    text = _DRAW.sub(lambda found: _value(found[1], int(found[2]), draw), template)
    pieces = tuple(part for found in _PIECE.finditer(text) for part in _lines(found[1]))
    return Example(kind, form, _PIECE.sub(r"\1", text), pieces)


def _lines(piece: str) -> Iterator[str]:
    return (part for part in piece.replace("\\n", "\n").split("\n") if part)


def _value(shape: str, size: int, draw: random.Random) -> str:
    if shape == "words":
        return " ".join(draw.sample(_WORDS, size))
    if shape == "uuid":
        return "-".join(_value("hex", part, draw) for part in (8, 4, 4, 4, 12))
    if shape == "basic":
        return base64.b64encode(f"admin:{_value('pw', size, draw)}".encode()).decode()
    if shape in ("word", "human"):
        return _made_by_a_person(shape, draw)
    if shape == "pw2":
        return _value("pw", size, draw).replace("#", "-").replace("?", "+").replace("%", "~")
    # A password has a capital, a digit and no run of one kind: the first two are set, the rest is drawn.
    start = draw.choice(_LOWER.upper()) + draw.choice(_DIGITS) if shape == "pw" else ""
    return start + "".join(draw.choice(_ALPHABETS[shape]) for _ in range(size - len(start)))


def _made_by_a_person(shape: str, draw: random.Random) -> str:
    one, two, number = draw.choice(_WORDS), draw.choice(_WORDS), draw.randint(10, 2026)
    forms = [f"{one.title()}{draw.choice('!$#&%+=?*')}{number}", f"{one}-{two}-{number}", f"{one.title()}{number}!"]
    forms += [f"{number}{one.title()}{two.title()}!", _value("pw", 13, draw)]
    return f"{one}{number}" if shape == "word" else draw.choice(forms)
