"""Run ``python -m validation.sendmodes``."""

import sys

from validation.sendmodes.cli import main

sys.exit(main())
