"""Run the command ``python -m predictor.optimize``."""

import sys

from predictor.optimize.cli import main

sys.exit(main())
