"""SubagentStart: give a sub-agent the part of the page that concerns its task."""

import gc
import os
import sys

gc.disable()  # a hook ends before there is garbage worth collecting
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memoria.capture.hook import run
from memoria.recall.subagent_page import subagent_start

run(subagent_start)
