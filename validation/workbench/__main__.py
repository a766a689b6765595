"""``python -m validation.workbench``."""

import sys

from validation.workbench.cli import main

if __name__ == "__main__":
    sys.exit(main())
