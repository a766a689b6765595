"""Entry point of ``python -m validation.blocks``."""

import sys

from validation.blocks.cli import main

sys.exit(main())
