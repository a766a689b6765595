"""Run the command ``python -m predictor.shares``."""

import sys

from predictor.shares.cli import main

sys.exit(main())
