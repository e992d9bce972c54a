"""SessionStart: give the new session the prepared page."""

import gc
import os
import sys

gc.disable()  # a hook ends before there is garbage worth collecting
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memoria.capture.hook import run
from memoria.recall.session_start import session_start

run(session_start)
