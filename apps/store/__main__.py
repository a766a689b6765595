"""Entry point of ``python -m apps.store``."""

import sys

from apps.store.cli import main

sys.exit(main())
