"""The door: ``memoria <verb>``. Parses, opens the home, runs the verb, turns errors into one line.

Exit status: 0 done, 1 an expected error (one line says what to do), 2 wrong usage, 3 a bug (the traceback is in
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
    "move": "take daily logs, wiki and state to another folder, such as out of a clone",
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
    chosen = VERBS.keys() & words[:1]
    for verb in chosen or VERBS:  # the other verbs are only for the help
        line = VERBS[verb]
        sub = verbs.add_parser(verb, help=line, description=line[0].upper() + line[1:] + ".")
        if verb in chosen:  # only the verb that runs is imported
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


class _Log(logging.Handler):
    """The log file, opened with the first record: most runs write none."""

    def __init__(self, home: Home) -> None:
        super().__init__()
        self.home = home
        self.file: logging.Handler | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        if self.file is None:
            from memoria.ground import log_file  # noqa: PLC0415 (10 ms that only a record is worth)

            self.file = log_file.opened(self.home.paths.memoria_log, self.home.settings.log_bytes)
        self.file.handle(record)

    def close(self) -> None:
        """Close the file."""
        if self.file is not None:
            self.file.close()
        super().close()


def _log_to(home: Home) -> None:
    logging.raiseExceptions = False  # else each line that a full disk refuses is a traceback on stderr
    root = logging.getLogger("memoria")
    for old in root.handlers:
        old.close()
    root.handlers[:] = [_Log(home)]
    root.setLevel(logging.INFO)


if __name__ == "__main__":
    raise SystemExit(main())
