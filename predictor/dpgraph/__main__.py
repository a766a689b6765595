"""Entry point of ``python -m predictor.dpgraph``."""

import sys

from predictor.dpgraph.cli import main

sys.exit(main())
