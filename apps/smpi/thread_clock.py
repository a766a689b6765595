"""The library that avoids reading the thread's clock in simulations of kernels."""

from pathlib import Path

from platforms.simgrid.compiling import compile_once

_SOURCE = Path(__file__).with_name("thread_clock.c")


def thread_clock_library() -> Path:
    """Return the path of the library, which is compiled on first use and kept in the cache folder.

    No simulated time depends on it, so it is not part of any identity.

    Raises:
        UserError: It cannot be compiled.
    """
    return compile_once(
        "thread-clock", [_SOURCE], compiler=["gcc"], flags=["-O2", "-shared", "-fPIC"], libraries=["-ldl"]
    )
