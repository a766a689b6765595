"""Run ``python -m platforms.inspect``."""

import sys

from platforms.inspect.cli import main

sys.exit(main())
