"""Run ``python -m validation.hierarchical``."""

import sys

from validation.hierarchical.cli import main

sys.exit(main())
