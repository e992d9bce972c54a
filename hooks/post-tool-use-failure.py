"""PostToolUseFailure: show what was noted about the error of a command."""

import gc
import os
import sys

gc.disable()  # a hook ends before there is garbage worth collecting
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memoria.capture.hook import run
from memoria.recall.error_notes import post_tool_use_failure

run(post_tool_use_failure)
