"""Run the command ``python -m validation.shared``."""

import sys

from validation.shared.cli import main

sys.exit(main())
