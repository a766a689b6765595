"""The command ``gridval``, which is also ``python -m gridval``."""

from __future__ import annotations

import sys

from validation.resident.client import answered

TYPE_CHECKING = False  # importing typing takes as long as the rest of this module
if TYPE_CHECKING:
    from collections.abc import Sequence

_NEW_OBJECTS = 50_000  # after which garbage is looked for; imports make many objects and no garbage


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command, in the resident process if there is one, and return its exit status."""
    status = answered(sys.argv[1:]) if argv is None else None
    return run_here(argv) if status is None else status


def run_here(argv: Sequence[str] | None = None) -> int:
    """Run the command in this process and return its exit status."""
    # Imported here because the resident process has them already.
    import atexit
    import gc

    from validation.entrance import main as entrance

    from .blas import use_one_thread

    use_one_thread()
    gc.set_threshold(_NEW_OBJECTS)
    atexit.register(gc.freeze)  # at its end the interpreter would look through all objects once more
    return entrance.main(argv)


def serve(folder: str) -> None:
    """Be the resident process (validation/resident)."""
    # Imported here because no command needs it.
    from validation.resident.server import serve

    from .blas import use_one_thread

    use_one_thread()
    serve(folder, run_here)


if __name__ == "__main__":
    sys.exit(main())
