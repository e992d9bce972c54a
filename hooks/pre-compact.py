"""PreCompact: copy the new tail of the transcript into the spool."""

import gc
import os
import sys

gc.disable()  # a hook ends before there is garbage worth collecting
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memoria.capture.capture import capture
from memoria.capture.hook import run

run(capture)
