"""Run the command ``python -m predictor.hierarchical``."""

import sys

from predictor.hierarchical.cli import main

sys.exit(main())
