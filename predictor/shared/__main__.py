"""Run the command ``python -m predictor.shared``."""

import sys

from predictor.shared.cli import main

sys.exit(main())
