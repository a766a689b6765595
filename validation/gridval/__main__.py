"""Run ``python -m gridval``."""

import sys

from validation.entrance.main import main

sys.exit(main())
