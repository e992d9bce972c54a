"""PreCompact: copy the new tail of the transcript into the spool."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "scripts"))

from memoria.capture.capture import capture
from memoria.capture.hook import run

run(capture)
