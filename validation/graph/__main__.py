"""Run ``python -m validation.graph``."""

import sys

from validation.graph.cli import main

sys.exit(main())
