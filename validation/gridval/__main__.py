"""The command ``gridval``, which is also ``python -m gridval``."""

from __future__ import annotations

import atexit
import gc
import sys
from collections.abc import Sequence

from validation.entrance import main as entrance

from .blas import use_one_thread

_NEW_OBJECTS = 50_000  # after which garbage is looked for; imports make many objects and no garbage


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    use_one_thread()
    gc.set_threshold(_NEW_OBJECTS)
    atexit.register(gc.freeze)  # at its end the interpreter would look through all objects once more
    return entrance.main(argv)


if __name__ == "__main__":
    sys.exit(main())
