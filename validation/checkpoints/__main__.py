"""Run the command ``python -m validation.checkpoints``."""

import sys

from validation.checkpoints.cli import main

sys.exit(main())
