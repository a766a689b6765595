"""Run the command ``python -m predictor.design``."""

import sys

from predictor.design.cli import main

sys.exit(main())
