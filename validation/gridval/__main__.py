"""The command ``gridval``, which is also ``python -m gridval``."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing typing takes as long as the rest of this module
if TYPE_CHECKING:
    from collections.abc import Sequence

_NEW_OBJECTS = 50_000  # after which garbage is looked for; imports make many objects and no garbage


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command, in the resident process if there is one, and return its exit status."""
    if argv is not None:
        return run_here(argv)
    _end_at_interrupt()  # first: Python shows where an import was interrupted
    # Imported here because importing it takes longer than all before.
    from validation.resident.client import answered

    status = answered(sys.argv[1:])
    return run_here() if status is None else status


def _end_at_interrupt() -> None:
    """Let Ctrl-C end the process with one word until the command begins, which has nothing to tidy up."""
    # Imported here because few who import this module need them.
    import os
    import signal

    def end(*_: object) -> None:
        os.write(2, b"interrupted\n")
        os._exit(130)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end)


def run_here(argv: Sequence[str] | None = None) -> int:
    """Run the command in this process and return its exit status."""
    # Imported here because the resident process has them already.
    import atexit
    import gc
    import signal

    from validation.entrance import main as entrance

    from .blas import use_one_thread

    if argv is None and signal.getsignal(signal.SIGINT) not in (signal.SIG_IGN, signal.SIG_DFL):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # from now on the command says what is left

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
