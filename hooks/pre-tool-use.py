"""PreToolUse: show what was said about the file or command that a tool is about to touch."""

import gc
import os
import sys

gc.disable()  # a hook ends before there is garbage worth collecting
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
scripts = os.path.join(root, "scripts")
sys.path.insert(0, scripts if os.path.isdir(scripts) else os.path.dirname(root))  # a wheel has hooks/ in the package

from memoria.capture.hook import run
from memoria.recall.tool_notes import pre_tool_use

run(pre_tool_use)
