"""An application of blocks, evaluated and simulated."""

import sys

from validation.blocks.cli import main

sys.exit(main())
