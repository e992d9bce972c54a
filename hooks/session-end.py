"""What an installation before 0.3 starts."""

import os

exec(open(os.path.join(os.path.dirname(__file__), "start.py"), "rb").read())
