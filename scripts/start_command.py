"""``python3 -S -I scripts/start_command.py VERB``: what ``bin/memoria`` runs, see ``capture.build``."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from memoria.capture.build import run_command

run_command()
