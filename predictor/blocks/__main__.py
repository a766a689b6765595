"""Block models: times of single blocks, of whole applications made of them, and their calibration."""

import sys

from predictor.blocks.cli import main

sys.exit(main())
