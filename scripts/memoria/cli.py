"""The door: ``memoria <verb>``. Parses, opens the home, runs the verb, turns errors into one line.

Exit status: 0 done, 1 an expected error (one line says what to do), 2 wrong usage, 3 a bug (the traceback is in
``log/memoria.log``), 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import io
import logging
import logging.handlers
import os
import sys
from collections.abc import Sequence
from types import ModuleType

from memoria import __version__
from memoria.ground import files
from memoria.ground.errors import ExpectedError, HomeRefusedError
from memoria.ground.home import Home

# Verb -> one line of help. Its module, ``memoria.commands.<verb>``, has ``arguments(parser)`` and
# ``command(args, home)``; with ``refused(args, error)`` it also answers when the home cannot be opened.
VERBS = {
    "status": "is it working? what waits, what failed, what it cost",
    "verify": "the receipt: every turn in Claude Code's transcripts, and what became of it",
    "ingest": "bring in the history that Claude Code has from before, or any transcripts",
    "doctor": "does everything that memoria stands on work here? each finding with its remedy",
    "demo": "run the main job on a bundled transcript, without account or network",
    "install": "put the hooks into Claude Code's settings (for a clone)",
    "uninstall": "take exactly our hooks out again",
    "flush": "summarise now what waits in the spool",
    "compile": "turn new daily entries into articles now",
    "observe": "note where each session stands and what is due to be judged (hooks have it done after every answer)",
    "diff": "show what the last compile changed in the wiki",
    "undo": "bring the wiki back to what it was before the last compile",
    "working": "what a session holds in mind: task, notes, keys, checkpoints",
    "mcp": "serve the memory to an MCP client over stdin and stdout",
    "show": "print the conversation behind an entry, as the archive kept it",
    "learned": "list, edit, delete and promote what was learned from your turns",
    "search": "find articles, entries, facts and turns",
    "query": "answer a question from the wiki and the daily logs, with checked links",
    "lint": "what is wrong with the wiki; --fix mends what is safe to mend",
    "why": "from an article or claim back to the words it came from",
    "forget": "take a text, entry, session, project or article out of everything",
}

log = logging.getLogger(__name__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; returns the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="memoria", description="A memory for Claude Code that compiles itself.")
    parser.add_argument("--version", action="version", version=f"memoria {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, line in VERBS.items():
        sub = verbs.add_parser(verb, help=line, description=line[0].upper() + line[1:] + ".")
        if words[:1] == [verb]:  # only the verb that runs is imported
            _module(verb).arguments(sub)
    args = parser.parse_args(words)
    return run(args.verb, args)


def run(name: str, args: argparse.Namespace) -> int:
    """Run a verb's command; errors become one line and a status."""
    verb = _module(name)
    try:
        home = Home.open()
        _log_to(home)
        for problem in home.settings.problems:
            print(f"memoria: {problem}", file=sys.stderr)
        status: int = verb.command(args, home)
        sys.stdout.flush()
    except ExpectedError as error:
        if isinstance(error, HomeRefusedError) and hasattr(verb, "refused"):
            status = verb.refused(args, error)  # a verb about what is wrong says that too
        else:
            log.warning("%s", error)
            print(f"memoria: {error}", file=sys.stderr)
            status = 1
    except KeyboardInterrupt:
        print("memoria: interrupted; what is done is kept", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader (head, less) has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left must go somewhere at exit
        return 0
    except OSError as error:
        log.exception("the system refused")
        print(f"memoria: {error.strerror or error}: {error.filename or ''}".rstrip(": "), file=sys.stderr)
        return 1
    except Exception as error:
        from memoria.ground import database  # noqa: PLC0415 (only a verb that failed needs it)

        if database.is_refused(error):
            log.exception("a database was refused")
            print(f"memoria: a database cannot be used now ({error}). Nothing is lost: see to disk and rights, and run "
                  "it again.", file=sys.stderr)  # fmt: skip
            return 1
        log.exception("a bug")
        print(f"memoria: a bug: {type(error).__name__}: {error}. The traceback is in the log; please report it.",
              file=sys.stderr)  # fmt: skip
        return 3
    return status


def _module(verb: str) -> ModuleType:
    return importlib.import_module(f"memoria.commands.{verb}")


def script(verb: str) -> int:
    """What ``scripts/<verb>.py`` runs."""
    return main([verb, *sys.argv[1:]])


class _PrivateLog(logging.handlers.RotatingFileHandler):
    """A log that only its owner can read, also the new one after a rotation."""

    def _open(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(open(self.baseFilename, "ab", opener=files.private), encoding=self.encoding)


class _OneLine(logging.Formatter):
    """A message stays on its line, whatever text of a model it quotes; only tracebacks have several."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (the base class's name)
        return "\\n".join(super().formatMessage(record).splitlines())


def _log_to(home: Home) -> None:
    """Log to a file that rotates; a log that cannot be written is no reason to fail, nor to say more than one line."""
    logging.raiseExceptions = False  # else each line that a full disk refuses is a traceback on stderr
    handler: logging.Handler
    try:
        handler = _PrivateLog(home.paths.memoria_log, maxBytes=home.settings.log_bytes, backupCount=1, encoding="utf-8")
    except OSError:
        handler = logging.NullHandler()  # without any, warnings would go to stderr
    handler.setFormatter(_OneLine("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger("memoria")
    for old in root.handlers:
        old.close()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)


if __name__ == "__main__":
    raise SystemExit(main())
