"""The command ``gridval``, which is also ``python -m gridval``."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from validation.entrance import main as entrance

from .blas import use_one_thread


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    use_one_thread()
    return entrance.main(argv)


if __name__ == "__main__":
    sys.exit(main())
