"""Weigh: give a prompt the notes that a model finds it to need; run by the hook, which becomes this process.

The request comes on standard input, and the answer goes to the client, which takes it as that of the hook.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
import time

from memoria.capture import detach, hook
from memoria.ground.home import Home
from memoria.recall.shown_notes import ShownNotes
from memoria.worker.weigher import Request, weighed

EVENT = "UserPromptSubmit"
LOOK_S = 1.0  # seconds between two looks at whether the client is there
MOST_S = 60.0  # that the process may live
CLEANUP_S = 10.0  # that it may take to end, of which the Agent SDK gives the model's client 5


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add no options to ``parser``."""


def command(args: argparse.Namespace, home: Home) -> int:  # noqa: ARG001 (all commands have this signature)
    """Print the hook's answer, or nothing when the prompt needs no note; return 0."""
    detach.lower_priority()
    began = time.monotonic()
    request = Request.read("" if sys.stdin.isatty() else sys.stdin.read(), home)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # the client's way of ending a hook
    done = threading.Event()
    threading.Thread(target=_end_with, args=(request.client, done), daemon=True).start()
    try:
        keys, text = weighed(home, request)
        _give(home, request, keys, text)
        outcome = f"notes shown: {len(keys)}, characters: {len(text)}"
    except KeyboardInterrupt:
        outcome = "no note was weighed: the client ended it"
    except OSError as error:
        outcome = f"no note was given: {error.strerror}"
    finally:
        done.set()
    hook.log(home.paths, f"{EVENT} {request.session} {outcome}, after {time.monotonic() - began:.1f} s")
    return 0


def _give(home: Home, request: Request, keys: list[str], text: str) -> None:
    """Print the notes, if there are any, and then record that they were shown; raise OSError when nobody reads them."""
    if not keys:
        return
    print(json.dumps({"hookSpecificOutput": {"hookEventName": EVENT, "additionalContext": text}}), flush=True)
    ShownNotes(home.paths.hints, request.session).add(keys)


def _end_with(client: int, done: threading.Event) -> None:
    """Interrupt this process when the client that started it has ended or its time is up, and then end it anyway."""
    until = time.monotonic() + MOST_S
    while not done.wait(LOOK_S):
        if os.getppid() != client or time.monotonic() > until:
            os.kill(os.getpid(), signal.SIGINT)  # to the process: a signal to this thread would not wake the main one
            if not done.wait(CLEANUP_S):
                os._exit(1)
