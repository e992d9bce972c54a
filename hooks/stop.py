"""Stop: copy the new tail of the transcript into the spool."""

import gc
import os
import sys

gc.disable()  # a hook ends before there is garbage worth collecting
root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
scripts = os.path.join(root, "scripts")
sys.path.insert(0, scripts if os.path.isdir(scripts) else os.path.dirname(root))  # a wheel has hooks/ in the package

from memoria.capture.capture import capture
from memoria.capture.hook import run

run(capture)
