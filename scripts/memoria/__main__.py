"""``python -m memoria``, or ``python <folder>/memoria/__main__.py`` where the package is not installed."""

import sys
from pathlib import Path

if not __package__:  # run by its path: packages are found beside this one, and none of its modules by itself
    own = Path(__file__).absolute().parent
    real = own.resolve()  # Python puts this folder first with its links resolved, and the plugin's scripts/ is a link
    sys.path[:] = [str(own.parent), *(folder for folder in sys.path if Path(folder).resolve() != real)]

from memoria.cli import main

raise SystemExit(main())
