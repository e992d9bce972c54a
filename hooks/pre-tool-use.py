"""PreToolUse: show what was said about the file or command that a tool is about to touch."""

import gc
import os
import sys

gc.disable()  # a hook ends before there is garbage worth collecting
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memoria.capture.hook import run
from memoria.recall.tool_notes import pre_tool_use

run(pre_tool_use)
