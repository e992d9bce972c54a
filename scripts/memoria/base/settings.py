"""Settings: every setting with its default and its documentation, in one record.

Sources, later wins: the default, ``config.json`` in the user's configuration folder, the plugin's options, which the
client keeps in its user-level settings, ``MEMORIA_<NAME>`` in the environment. Folders that an option excludes are
added to those of the file. A value that cannot be read is named in ``Settings.problems`` and the default is used,
because a hook must not fail because of a typing error. A file that cannot be read is named in ``Settings.refusal``: the
home and the excluded folders are then unknown, so nothing may be recorded. A test compares docs/settings.md with
``fields()``.
"""

from __future__ import annotations

import os

from memoria.base import quickjson, user_environment
from memoria.base.paths import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    Projects = Mapping[str, Mapping[str, Mapping[str, str]]]

EXPECTED_PROJECTS = 'an object such as {"shop": {"env": {"ANTHROPIC_BASE_URL": "https://..."}}}'
MEND_CONFIG = "correct it or move it away"
PREFIX = "MEMORIA_"  # of the environment variables
PREFIXES = (PREFIX, "MEMORY_API_")  # with those that the memory server's own clients read
LIMIT = "MEMORIA_LIMIT_"  # of the variables by which tests and benches set a constant
OF_NOTES = ("hints", "tool_notes", "error_notes", "subagent_page")
CONSTANT = (
    "ollama_models", "model_timeout_s", "call_chars", "retry_s", "max_attempts", "flush_turns_compact",
    "flush_turns_end", "flush_turns_stop", "flush_idle_min", "transcript_wait_s", "learn_every", "learn_models",
    "stale_days", "consolidate", "thin_claims", "compile_drop_share", "page_chars", "where_you_were", "working_days",
    "working_keys", "working_value_chars", "working_notes", "working_checkpoints", "saved_notice", "call_budget_usd",
    "spawns_per_min", "log_bytes", "hint_threshold", "keep_sidechains",
)  # fmt: skip
FORMER = {  # settings until 0.2, which nothing reads any more, and what to do where one is set
    **dict.fromkeys(CONSTANT, "remove it"),
    **dict.fromkeys(OF_NOTES, "say which notes you want with `notes`: all, prompt or none"),
    "client_memory": "remove it: Claude Code reads its own memory files, memoria does not",
    "share_projects": "remove it: `memoria learned promote` lets a statement hold in every project",
}
PLUGIN = "memoria"  # an installed plugin is named with its marketplace, ``memoria@memoria``
PLUGIN_OPTION = "plugin option"  # the source of a setting that the client's dialog for the plugin set
CHANGE_OPTION = "`/plugin configure memoria` in Claude Code"  # what a message tells the user to do about one


class Field:
    """One setting: its name, its default (whose type is the setting's type) and a sentence of documentation.

    ``variable`` is its environment variable, e.g. ``MEMORIA_COMPILE_INTERVAL_MIN``. ``choices``: the texts that it may
    be (none: any). An instance of the owner has the default as its attribute until another value is set.
    """

    __slots__ = ("choices", "default", "is_path", "name", "sentence", "variable")

    def __init__(
        self, default: Any, sentence: str, variable: str = "", is_path: bool = False, choices: tuple[str, ...] = ()
    ) -> None:
        self.name = ""  # until ``Settings.fields`` is asked
        self.choices = choices
        self.default = default
        self.sentence = sentence
        self.variable = variable
        self.is_path = is_path

    def __get__(self, instance: object, owner: type) -> object:
        """Return the default, or the field itself when the class is asked."""
        return self if instance is None else self.default

    def parse(self, raw: object) -> object:
        """Return a JSON value or an environment string as this field's type; ValueError says what was expected."""
        kind = type(self.default)
        if kind is bool:
            return _parse_bool(raw)
        if kind is tuple:
            return self._parse_several(raw)
        if kind is dict:
            return _parse_projects(raw)
        if kind is str:
            return self._parse_text(raw)
        return _parse_number(raw, kind)

    def _parse_several(self, raw: object) -> tuple[object, ...]:
        parts = raw if isinstance(raw, list) else _split(raw) if isinstance(raw, str) else [raw]
        if any(isinstance(usual, float) for usual in self.default):
            return tuple(_parse_number(part, float) for part in parts if part != "")
        if not all(isinstance(part, str) for part in parts):
            raise ValueError("a list of strings")
        words = [str(part).strip() for part in parts]
        return tuple(word for word in words if word)

    def _parse_text(self, raw: object) -> str:
        if not isinstance(raw, str):
            raise ValueError("a string")
        text = raw.strip()
        if "\0" in text:
            raise ValueError("a string without NUL characters")
        if self.choices and text not in self.choices:
            raise ValueError(" or ".join(self.choices))
        # Hook and worker run in different folders, and a path must mean the same place to both.
        if self.is_path and text and not os.path.isabs(os.path.expanduser(text)):
            raise ValueError("an absolute path, or one that begins with ~")
        return text


def _split(text: str) -> list[object]:
    """Return the parts of a text: those of a JSON list, or those divided by commas."""
    if text.lstrip().startswith("["):
        try:
            listed = quickjson.loads(text)
        except ValueError:
            listed = None  # a glob or a pattern with a class
        if isinstance(listed, list):
            return listed
    return list(text.split(","))


def _parse_number(raw: object, kind: type) -> float:
    if isinstance(raw, (bool, list, dict)):
        raise ValueError("a number")
    try:
        number = float(raw) if kind is float else int(str(raw).strip())  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError("a number" if kind is float else "a whole number") from None
    if not 0 <= number < 1e15:  # also refuses nan and inf
        raise ValueError("a number of at least 0")
    return number


def _parse_bool(raw: object) -> bool:
    text = str(raw).strip().lower()
    if text in ("1", "true", "yes", "on"):
        return True
    if text in ("", "0", "false", "no", "off", "none"):
        return False
    raise ValueError("true or false")


def _parse_projects(raw: object) -> dict[str, dict[str, dict[str, str]]]:
    """Return what is set for single projects, ``{"name or key": {"env": {"VARIABLE": "value"}}}``."""
    try:
        projects = quickjson.loads(raw) if isinstance(raw, str) else raw
    except ValueError:
        projects = None
    if not isinstance(projects, dict):
        raise ValueError(EXPECTED_PROJECTS)
    for chosen in projects.values():
        env = chosen.get("env", {}) if isinstance(chosen, dict) and set(chosen) <= {"env"} else None
        if not isinstance(env, dict) or not all(isinstance(value, str) for value in env.values()):
            raise ValueError(EXPECTED_PROJECTS)
    return projects


def env_of(project: str, projects: Projects) -> Mapping[str, str]:
    """Return the variables that the user has set for the model calls of a project, given by its key."""
    for name in (project, project.rpartition("-")[0]):  # the key is the name and a checksum
        if name and name in projects:
            return projects[name].get("env", {})
    return {}


setting: Any = Field  # for type checkers a setting is what its annotation says


DECIDING = ("disabled", "home", "state", "exclude")  # say whether and where anything is kept: a wrong one keeps nothing


class Settings:
    """Every setting as an attribute, resolved. ``Settings.load()`` reads them; ``problems`` names what was refused.

    ``refusal`` says why the settings file cannot be read, and is empty when it can. While it is set, nothing may be
    recorded or sent. ``origins`` has the source of each setting that was given, the file's path or the variable.
    ``gone`` names the settings that were given and are none any more, each with what to do about it.
    """

    problems: tuple[str, ...] = ()
    gone: tuple[tuple[str, str], ...] = ()
    origins: Mapping[str, str] = {}
    refusal = ""

    disabled: bool = setting(False, "Switch everything off: hooks return at once and nothing is captured.")
    home: str = setting(
        "",
        "Where daily logs and the wiki live. Empty: ~/memoria. Recorded when memoria first keeps something.",
        is_path=True,
    )
    state: str = setting(
        "", "Where spool, cursors, ledger and indexes live. Empty: `.memoria` inside the home.", is_path=True
    )
    shared_home: bool = setting(
        False, "Leave daily logs and wiki open to other users of the machine. false: to their owner only (0700, 0600)."
    )
    tz: str = setting("", "Time zone of the daily logs, an IANA name such as Europe/Vienna. Empty: the system's.")
    python: str = setting(
        "",
        "Interpreter for worker and MCP server. Empty: the clone's .venv, else one that memoria sets up.",
        is_path=True,
    )
    model: str = setting(
        "claude:haiku", "Models tried in order, e.g. `claude:haiku,ollama:qwen2.5:3b`; `offline` uses no model at all."
    )
    ollama_url: str = setting("http://127.0.0.1:11434", "Address of the ollama server.")
    split_worktrees: bool = setting(False, "Treat each git worktree as a project of its own.")
    learn_at_once: bool = setting(
        True, "Summarise a session at once when you correct, rule or decide something. false: when it is due."
    )
    memory_api_url: str = setting(
        "", "Address of a memory server (claude-memory-mcp) to share learned facts with.", "MEMORY_API_URL"
    )
    memory_api_key: str = setting("", "The memory server's key.", "MEMORY_API_KEY")
    sync: str = setting("", "Where your machines meet: a git address or a folder. `memoria sync` sets it.")
    compile_interval_min: int = setting(
        60, "Minutes between automatic compiles of the wiki; its first dozen entries do not wait."
    )
    notes: str = setting(
        "all",
        "Which notes sessions are given. `all`: beside a prompt, before the tool use that a rule names, after an error "
        "and for a sub-agent. `prompt`: beside a prompt. `none`: only the page at the start.",
        choices=("all", "prompt", "none"),
    )
    weigh_notes: bool = setting(
        True,
        "Let the model choose, while Claude goes on, which notes a prompt needs: one or two short calls for most "
        "prompts. false, or `offline`: only what holds most words of a prompt is shown, which is right less often.",
    )
    redis_url: str = setting("", "Redis server to share working memory between machines. Empty: the embedded store.")
    day_notice: bool = setting(
        True, "Tell you once a day, at a session's start, what memoria recalled, learned and cost the day before."
    )
    projects: Projects = setting(
        {}, "Variables for the model calls of single projects, by name or key, such as another endpoint."
    )
    exclude: tuple[str, ...] = setting(
        (), "Folders to ignore: globs such as `~/jobs/secret`, `**/clients/**` or a folder's name."
    )
    redact_extra: tuple[str, ...] = setting(
        (), "Your own regular expressions for text to redact, besides the built-in ones (a list in config.json)."
    )
    archive_mb: int = setting(200, "Megabytes of redacted, compressed turns kept for `memoria show`. 0: none.")
    daily_budget_usd: float = setting(
        1.0, "Dollars that models may cost in a day; calls that would exceed it wait for tomorrow. 0: no limit."
    )

    # Constants, which tests and benches set as MEMORIA_LIMIT_<NAME>.
    model_timeout_s = 180.0  # after which a model call is abandoned, to be retried later
    call_chars = 60_000  # of conversation in one call, at most; longer sessions take several
    retry_s: tuple[float, ...] = (2.0, 4.0)  # before the second and third try of a call within one run
    max_attempts = 5  # after which a job is set aside in spool/failed
    flush_turns_compact = 2  # new turns needed for a summary at a compaction, which is a start as well
    flush_turns_stop = 30  # after which a session is summarised while it is open
    flush_idle_min = 120  # after which a session that never ended is summarised
    transcript_wait_s = 10.0  # for a transcript that the client has not written yet
    page_chars = 9_500  # given to a new session; the client cuts at 10,000
    search_wait_s = 0.5  # that a search brings the index up to date before it answers from what is there
    log_bytes = 1_000_000  # at which a log file is rotated

    @classmethod
    def fields(cls) -> tuple[Field, ...]:
        """Return all settings in the order of their declaration."""
        found = [(name, value) for name, value in vars(cls).items() if isinstance(value, Field)]
        for name, field in found:  # here and not at the import, because most hooks are given no setting
            field.name = name
            field.variable = field.variable or PREFIX + name.upper()
        return tuple([field for _, field in found])

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Return all settings, resolved from config.json and the environment; never raises."""
        env = os.environ if environ is None else environ
        path = config_path(env)
        settings = cls()
        stored, options, settings.refusal = _read_sources(env, path)
        if stored or options or any(name.startswith(PREFIXES) for name in env):
            settings._resolve(env, {path: stored, PLUGIN_OPTION: options})
        return settings

    def _resolve(self, env: Mapping[str, str], files: dict[str, dict[str, object]]) -> None:
        """Set what the files and the environment hold, a later source winning; name what is refused."""
        problems: list[str] = []
        origins: dict[str, str] = {}
        known = {field.name: field for field in self.fields()}
        variables = frozenset(env)
        given = {name for stored in files.values() for name in stored}
        for field in known.values():
            if field.name in given or field.variable in variables:
                values = [(source, stored.get(field.name)) for source, stored in files.items()]
                for source, raw in (*values, (field.variable, env.get(field.variable))):
                    try:
                        if raw is not None:  # null in the file: not set
                            self._take(field, source, field.parse(raw), origins)
                    except ValueError as error:
                        problem = f"{source}: {field.name} must be {error}, not {raw!r}"
                        problems.append(f"{problem}; ignored")
                        if field.name in DECIDING:
                            self.refusal = self.refusal or problem
        unknown = given.difference(known, FORMER)
        for source, stored in files.items():
            problems += [f"{source}: there is no setting {name!r}; ignored" for name in stored if name in unknown]
        gone = [
            (f"{source}: {name}", FORMER[name]) for source, stored in files.items() for name, value in stored.items()
            if name in FORMER and (value is not False or name != "share_projects")  # the client stores what is off too
        ]  # fmt: skip
        for name in [name for name in variables if name.startswith(PREFIX)]:
            former = name[len(PREFIX) :].lower()
            if former in FORMER:
                gone.append((name, FORMER[former]))
            elif name.startswith(LIMIT):
                problems += self._limit(name, env[name])
        self.problems, self.gone, self.origins = tuple(problems), tuple(gone), origins

    def _limit(self, variable: str, raw: str) -> list[str]:
        """Set a constant, which has its default's type; return what is wrong with the value."""
        name = variable[len(LIMIT) :].lower()
        if not isinstance(vars(Settings).get(name), (int, float, tuple)):
            return [f"there is no constant {name!r}; {variable} is ignored"]
        try:
            setattr(self, name, Field(getattr(self, name), "").parse(raw))
        except ValueError as error:
            return [f"{variable} must be {error}, not {raw!r}; ignored"]
        return []

    def _take(self, field: Field, source: str, value: object, origins: dict[str, str]) -> None:
        """Set a value; folders that an option excludes are added, because one more must not free another."""
        if field.name == "exclude" and source == PLUGIN_OPTION and isinstance(value, tuple) and self.exclude:
            value, source = (*self.exclude, *value), f"{origins[field.name]} and {source}"
        setattr(self, field.name, value)
        origins[field.name] = source


def _read_sources(env: Mapping[str, str], path: str) -> tuple[dict[str, object], dict[str, object], str]:
    """Return what config.json and the plugin's options hold, and which of the two cannot be read, and why."""
    stored: dict[str, object] = {}
    source = path
    try:
        stored = _read_config(path)
        source = user_environment.user_file(env)
        return stored, _read_options(source), ""
    except (OSError, ValueError) as error:
        return stored, {}, f"{source} cannot be read ({getattr(error, 'strerror', None) or error})"


def _read_options(path: str) -> dict[str, object]:
    """Return the plugin's options that were given a value in the client's user-level settings.

    Every process reads that file, because the client hands the options to hooks alone, in the environment, and a
    project's settings can add to them. Raise ValueError when it holds options that cannot be read: the home is then
    unknown. docs/decisions/0087-installing.md.
    """
    try:
        text = user_environment.file_text(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    if '"pluginConfigs"' not in text:
        return {}
    stored = quickjson.loads(text)
    plugins = stored.get("pluginConfigs") if isinstance(stored, dict) else None
    found: dict[str, object] = {}
    for name, config in sorted(plugins.items()) if isinstance(plugins, dict) else ():
        options = config.get("options") if name.startswith(f"{PLUGIN}@") and isinstance(config, dict) else None
        if isinstance(options, dict):
            found.update({key: value for key, value in options.items() if value not in (None, "", [])})
    return found


def config_path(environ: Mapping[str, str]) -> str:
    """Return the user's settings file, ``$XDG_CONFIG_HOME/memoria/config.json`` or the platform's equivalent."""
    base = environ.get("XDG_CONFIG_HOME", "")
    if not base:
        home = environ.get("HOME") or os.path.expanduser("~")
        base = (
            environ.get("APPDATA") or os.path.join(home, "AppData", "Roaming")
            if os.name == "nt"
            else (os.path.join(home, ".config"))
        )
    return os.path.join(base, "memoria", "config.json")


def record_home(home: str) -> None:
    """Write the home to config.json, unless there is such a file: the worker adds it to that.

    A file that cannot be written changes nothing: the home is then found anew each time.
    """
    path = config_path(os.environ)
    if os.path.exists(path):
        return
    from memoria.base import atomic  # noqa: PLC0415 (once in a home's life)

    beside = f"{path}.{os.getpid()}.tmp"
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        atomic.replace(beside, quickjson.dumps({"home": home}).encode() + b"\n")
        try:
            os.link(beside, path)  # fails for a file that was written meanwhile
        finally:
            os.unlink(beside)
    except OSError:
        pass


def _read_config(path: str) -> dict[str, object]:
    try:
        text = text_of(path)
    except FileNotFoundError:
        return {}
    stored = quickjson.loads(text)
    if not isinstance(stored, dict):
        raise ValueError("it must hold one JSON object")
    return stored
