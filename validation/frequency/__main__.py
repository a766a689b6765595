"""Run ``python -m validation.frequency``."""

import sys

from validation.frequency.cli import main

sys.exit(main())
