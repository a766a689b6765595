"""The command ``gridval``, which is also ``python -m gridval``."""

import sys

from validation.entrance.main import main

if __name__ == "__main__":
    sys.exit(main())
