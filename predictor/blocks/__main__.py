"""Command line of the block models: single blocks, whole applications and calibration."""

import sys

from predictor.blocks.cli import main

sys.exit(main())
