"""Run ``python -m validation.measured``."""

import sys

from validation.measured.cli import main

sys.exit(main())
