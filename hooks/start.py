"""Start one of memoria's hooks: ``start.py stop``, from ``run``.

Whatever is missing or broken, the status is 0 and nothing is printed but, at a session's start, a message.
"""

import atexit
import gc
import os
import sys

HANDLERS = {
    "session-start": "recall.session_start.session_start",
    "user-prompt-submit": "recall.prompt_notes.user_prompt_submit",
    "pre-tool-use": "recall.tool_notes.pre_tool_use",
    "post-tool-use-failure": "recall.error_notes.post_tool_use_failure",
    "subagent-start": "recall.subagent_page.subagent_start",
    "stop": "capture.capture.capture",
    "pre-compact": "capture.capture.capture",
    "post-compact": "capture.capture.capture",
    "session-end": "capture.capture.capture",
    "codex": "recall.codex.codex",
}
GONE = (
    "memoria keeps nothing now: %s. If memoria was moved, run `memoria install` there; if it was removed, take its "
    "hooks out of settings.json."
)

atexit.register(os._exit, 0)  # the client takes 2 for "block"
gc.disable()  # a hook ends before there is garbage worth collecting
name = os.path.basename(sys.argv[-1]).partition(".")[0]  # installations before 0.3 start <name>.py
sys.excepthook = lambda kind, error, _: (
    name == "session-start"
    and print(__import__("json").dumps({"systemMessage": GONE % (str(error) or kind.__name__)}), flush=True)
)
if sys.version_info < (3, 9):
    raise RuntimeError("its hooks need Python 3.9 or newer, python3 is " + sys.version.split()[0])
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
scripts = os.path.join(root, "scripts")
sys.path.insert(0, scripts if os.path.isdir(scripts) else os.path.dirname(root))  # a wheel has hooks/ in the package

from memoria.capture.hook import run

module, _, handler = HANDLERS[name].rpartition(".")
run(getattr(__import__("memoria." + module, fromlist=[handler]), handler))
