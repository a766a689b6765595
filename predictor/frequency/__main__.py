"""Run the command ``python -m predictor.frequency``."""

import sys

from predictor.frequency.cli import main

sys.exit(main())
