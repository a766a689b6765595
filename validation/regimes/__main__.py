"""Run ``python -m validation.regimes``."""

import sys

from validation.regimes.cli import main

sys.exit(main())
