"""Run ``python -m apps.calibration``."""

import sys

from apps.calibration.cli import main

sys.exit(main())
