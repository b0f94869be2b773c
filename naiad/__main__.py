"""`python -m naiad`: the command `naiad`."""

import sys

from naiad.tools.cli import main

sys.exit(main())
