"""Codex: at a session's start give it the prepared page, at the end of a turn copy the new tail of its rollout.

``memoria install --agent codex`` declares it in Codex's hooks.json; it is none of Claude Code's hooks.
"""

import gc
import os
import sys

gc.disable()  # a hook ends before there is garbage worth collecting
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
scripts = os.path.join(root, "scripts")
sys.path.insert(0, scripts if os.path.isdir(scripts) else os.path.dirname(root))  # a wheel has hooks/ in the package

from memoria.capture.hook import run
from memoria.recall.codex import codex

run(codex)
