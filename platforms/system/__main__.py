"""Run ``python -m platforms.system``."""

import sys

from platforms.system.cli import main

sys.exit(main())
