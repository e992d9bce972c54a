"""``python3 -S -I scripts/build_environment.py``: install what memoria runs on, see ``capture.build``."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from memoria.capture.build import main

main()
