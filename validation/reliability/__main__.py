"""Run ``python -m validation.reliability``."""

import sys

from validation.reliability.cli import main

sys.exit(main())
