"""Run ``python -m apps.emulation``."""

import sys

from apps.emulation.cli import main

sys.exit(main())
