"""What an installation before 0.3 starts."""

import os
import sys

sys.argv[1:] = [__file__]
__file__ = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start.py")
exec(open(__file__, "rb").read())
