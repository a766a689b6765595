"""Run the command ``python -m predictor.reliability``."""

import sys

from predictor.reliability.cli import main

sys.exit(main())
