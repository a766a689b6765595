"""Run the command ``python -m predictor.checkpoints``."""

import sys

from predictor.checkpoints.cli import main

sys.exit(main())
