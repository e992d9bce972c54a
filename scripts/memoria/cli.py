"""Command line: ``memoria <verb>``. Parse the arguments, open the home, run the verb, report an error in one line.

Exit status: 0 success, 1 an expected error (one line says what to do), 2 wrong usage, 3 a bug (the traceback is in
``log/memoria.log``), 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from memoria import __version__
from memoria.base import invocation, user_environment
from memoria.ground import printable
from memoria.ground.errors import ExpectedError, HomeRefusedError
from memoria.ground.home import Home

# Verb -> one line of help. Its module, ``memoria.commands.<verb>`` or one of ``BESIDE``, has ``command(args, home)``,
# or ``without_home(args)`` when it leaves the user's home alone, and ``arguments(parser)`` when it takes any; one with
# ``refuse(args, error)`` also runs when the home cannot be opened.
VERBS = {
    "status": "show whether memoria works: what waits, what failed, what it cost",
    "verify": "account for every turn in the transcripts: what became of it",
    "ingest": "import what Claude Code and Codex remember",
    "doctor": "check everything that memoria depends on; each finding comes with its remedy",
    "demo": "play three sessions with the recorded answers of a model, offline",
    "install": "add memoria to Claude Code as its plugin (from a clone or a tool), or to Codex",
    "config": "list, set and unset the settings, and where each value comes from",
    "sync": "let the memory of your machines be one, by a git repository or a folder",
    "share": "share what you choose with your team through the repository, or take it in",
    "flush": "summarise what waits in the spool now",
    "compile": "turn new daily entries into articles now",
    "undo": "restore the wiki to what it was before its last change",
    "show": "print the conversation behind an entry, from the archive",
    "learned": "list, edit, delete and promote the facts learned from your turns",
    "search": "find articles, entries, facts and turns",
    "open": "show the memory in the browser",
    "query": "answer a question from the wiki and the daily logs, with checked links",
    "why": "trace an article or claim back to the words it came from",
    "forget": "remove a text, entry, session, project or article everywhere",
}

# The names that verbs had before 0.3, until 0.4.
FORMER = {
    "diff": "undo --show", "lint": "doctor --wiki", "uninstall": "install --remove",
}  # fmt: skip
# What hooks and clients start; two of these verbs are in the module of what they run.
BESIDE = {"mcp": "mcp.server", "weigh": "worker.weigher"}
STARTED = {
    "mcp": "serve the memory to an MCP client over stdin and stdout",
    "observe": "note where each session stands, and start a summary that is urgent (run after every answer)",
    "weigh": "choose the notes that a prompt needs (run by the hook while Claude goes on)",
}
READING = frozenset(("open", "search", "query", "why", "learned", "show", "status", "verify", "doctor"))
LAST_STREAM = 2  # the descriptor of standard error

log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return its exit status; no text that it prints controls the terminal."""
    user_environment.restore()
    _open_streams()
    with printable.streams():
        return _main(argv)


def _main(argv: Sequence[str] | None) -> int:
    escaped = sys.getfilesystemencodeerrors()  # how bytes stand in words that the locale's encoding does not know
    given = sys.argv[1:] if argv is None else argv
    words = [word.encode("utf-8", escaped).decode("utf-8", "replace") for word in given]
    if not words:
        parsers([]).print_help()
        return 0
    name, rest = _guess_verb(words)
    parser = parsers([name] if name else [])
    if not name and not words[0].startswith("-"):
        parser.error(_describe_unknown(words[0]))
    args, unknown = parser.parse_known_args([name, *rest] if name else words)
    if unknown:
        there = f"{invocation.command(f'{args.verb} --help')} lists those that there are"
        parser.error(f"unrecognized arguments: {' '.join(unknown)}; {there}")
    return run(args.verb, args)


def _guess_verb(words: Sequence[str]) -> tuple[str, list[str]]:
    """Return the module that a command line names, ``""`` for none, and its arguments."""
    verb, *rest = words
    if verb in FORMER:
        print(f"memoria: `{verb}` is `{FORMER[verb]}` now", file=sys.stderr)
        verb, *rest = [*FORMER[verb].split(), *rest]
    return (verb if verb in {*VERBS, *STARTED} else ""), rest


def parsers(verbs: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the command line, with the arguments of ``verbs`` (none: of all, without arguments)."""
    about = "A memory for Claude Code that compiles itself."
    parser = argparse.ArgumentParser(prog="memoria", description=about, formatter_class=_formatter)
    parser.add_argument("--version", action="version", version=f"memoria {__version__}")
    made = parser.add_subparsers(dest="verb", metavar="VERB", required=True, prog=parser.prog)
    for verb in verbs or VERBS:
        line = VERBS.get(verb) or STARTED[verb]
        about = line[0].upper() + line[1:] + "."
        own = made.add_parser(
            verb, help=line, description=about, formatter_class=_formatter,
            allow_abbrev=False,  # `undo --sho` must not undo
        )  # fmt: skip
        if verb in verbs and hasattr(module := _module(verb), "arguments"):  # only the verb that runs is imported
            module.arguments(own)
    return parser


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Return a formatter of a fixed width: each argument makes one, and measuring the terminal loads ``shutil``."""
    return argparse.HelpFormatter(prog, width=110)


def _describe_unknown(word: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 (only for a typing error)

    near = get_close_matches(word, VERBS.keys() - {"forget"}, n=1, cutoff=0.6)  # what deletes is guessed for nobody
    meant = f"; did you mean {invocation.command(near[0])}?" if near else f"; `{invocation.program()}` lists the verbs"
    return f"there is no verb {word!r}{meant}"


def _open_streams() -> None:
    """Open the standard streams that the caller closed, so that no file is opened in their place."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= LAST_STREAM:
        pass
    os.close(descriptor)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123


def run(name: str, args: argparse.Namespace) -> int:
    """Run a verb's command and return its exit status; report an error in one line."""
    verb = _module(name)
    logging.getLogger("memoria").addHandler(logging.NullHandler())  # else each record goes to standard error as well
    status: int
    try:
        status = (
            _run_in_home(verb, args, reads=_reads(name, args)) if hasattr(verb, "command") else verb.without_home(args)
        )
        sys.stdout.flush()
    except ExpectedError as error:
        if isinstance(error, HomeRefusedError) and hasattr(verb, "refuse"):
            status = verb.refuse(args, error)  # status and doctor report this as well
        else:
            log.warning("%s", error)
            print(f"memoria: {error}", file=sys.stderr)
            status = 1
    except KeyboardInterrupt:
        print("memoria: interrupted; finished work is kept", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader (head, less) has closed the pipe
        _discard_output()
        return 0
    except OSError as error:
        try:
            sys.stdout.flush()
        except OSError:  # a full disk, or a descriptor that is not open for writing
            _discard_output()
        log.exception("the operating system refused an operation")
        print(f"memoria: {error.strerror or error}: {error.filename or ''}".rstrip(": "), file=sys.stderr)
        return 1
    except Exception as error:
        from memoria.ground import database  # noqa: PLC0415 (only a verb that failed needs it)

        if database.is_refused(error):
            log.exception("a database cannot be used")
            print(f"memoria: a database cannot be used now ({error}). Nothing is lost: check free space and "
                  "permissions, then run the command again.", file=sys.stderr)  # fmt: skip
            return 1
        log.exception("unexpected error")
        bug = printable.sentence(f"{type(error).__name__}: {error}")
        print(f"memoria: a bug: {bug} The traceback is in the log; please report it.", file=sys.stderr)
        return 3
    return status


def _discard_output() -> None:
    """Let the flush at exit write to nowhere: it would fail again, and change the exit status."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _reads(name: str, args: argparse.Namespace) -> bool:
    """Return whether a verb only shows what is there."""
    return name in READING or any(getattr(args, option, None) for option in ("show", "status", "list", "dry_run"))


def _run_in_home(verb: ModuleType, args: argparse.Namespace, *, reads: bool) -> int:
    home = Home.open(reads=reads)
    if not home.scratch:
        _log_to(home)
    try:
        for problem in home.settings.problems:
            print(f"memoria: {problem}", file=sys.stderr)
        status: int = verb.command(args, home)
        return status
    finally:
        home.leave()


def _module(verb: str) -> ModuleType:
    return importlib.import_module(f"memoria.{BESIDE.get(verb, f'commands.{verb}')}")


def script(verb: str) -> int:
    """Run a verb for ``scripts/<verb>.py`` and return its exit status."""
    return main([*FORMER.get(verb, verb).split(), *sys.argv[1:]])


def _log_to(home: Home) -> None:
    logging.raiseExceptions = False  # a full disk must not print a traceback for each record
    root = logging.getLogger("memoria")
    for old in root.handlers:
        old.close()
    root.handlers[:] = [printable.LogFile(home.paths.memoria_log)]
    root.setLevel(logging.INFO)


if __name__ == "__main__":
    raise SystemExit(main())
