"""Run ``python -m validation.intervals``."""

import sys

from validation.intervals.cli import main

sys.exit(main())
