"""Run the command ``python -m validation.shares``."""

import sys

from validation.shares.cli import main

sys.exit(main())
