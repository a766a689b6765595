"""Run ``python -m validation.league``."""

import sys

from validation.league.cli import main

sys.exit(main())
