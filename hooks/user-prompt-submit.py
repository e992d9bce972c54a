"""UserPromptSubmit: give the prompt the few notes that fit it best."""

import gc
import os
import sys

gc.disable()  # a hook ends before there is garbage worth collecting
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memoria.recall.prompt_notes import user_prompt_submit
from memoria.capture.hook import run

run(user_prompt_submit)
