"""Run ``python -m validation.optimize``."""

import sys

from validation.optimize.cli import main

sys.exit(main())
