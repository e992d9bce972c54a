"""Start one of memoria's hooks: ``start.py stop``, from ``run``.

Whatever is missing or broken, the status is 0 and nothing is printed but, at a session's start, a message. Compiled at
each start, and therefore short.
"""

import atexit
import gc
import os
import sys

GONE = (
    "memoria keeps nothing now: %s. If memoria was moved, run `memoria install` there; if it was removed, take its "
    "hooks out of settings.json."
)

atexit.register(os._exit, 0)  # the client takes 2 for "block"
gc.disable()  # a hook ends before there is garbage worth collecting
sys.modules["__future__"] = type("", (), {"annotations": None})  # type: ignore[assignment]  # without reading its file
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

run(name)
