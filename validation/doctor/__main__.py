"""Run ``python -m validation.doctor``."""

import sys

from validation.doctor.cli import main

sys.exit(main())
