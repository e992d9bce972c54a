"""UserPromptSubmit: give the prompt the few notes that fit it best."""

import gc
import os
import sys

gc.disable()  # a hook ends before there is garbage worth collecting
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
scripts = os.path.join(root, "scripts")
sys.path.insert(0, scripts if os.path.isdir(scripts) else os.path.dirname(root))  # a wheel has hooks/ in the package

from memoria.recall.prompt_notes import user_prompt_submit
from memoria.capture.hook import run

run(user_prompt_submit)
