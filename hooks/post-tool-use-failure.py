"""PostToolUseFailure: show what was noted about the error of a command."""

import gc
import os
import sys

gc.disable()  # a hook ends before there is garbage worth collecting
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
scripts = os.path.join(root, "scripts")
sys.path.insert(0, scripts if os.path.isdir(scripts) else os.path.dirname(root))  # a wheel has hooks/ in the package

from memoria.capture.hook import run
from memoria.recall.error_notes import post_tool_use_failure

run(post_tool_use_failure)
