"""NumPy's linear algebra with one thread.

OpenBLAS starts a thread for every core while NumPy is imported, which takes a quarter of the processor time of a short
command.  The matrices here are small, so that further threads save nothing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

VARIABLE = "OPENBLAS_NUM_THREADS"
_LOADING = ("numpy", "scipy.linalg", "scipy.special")  # they load an OpenBLAS
# What they import next, when theirs is loaded; programs that a command starts must not find the variable.
_LOADED = ("numpy.lib", "scipy.linalg._basic", "scipy.special._basic")


class _OneThread:
    """Finds no module, but sees which ones are looked for, and sets the variable while OpenBLAS is loaded."""

    @staticmethod
    def find_spec(
        fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        """Return None: the next finder is asked."""
        if fullname in _LOADING:
            os.environ[VARIABLE] = "1"
        elif fullname in _LOADED:
            os.environ.pop(VARIABLE, None)
        return None


def use_one_thread() -> None:
    """Have NumPy use one thread when it is imported, unless the user's environment names a number."""
    if VARIABLE not in os.environ and _OneThread not in sys.meta_path:
        sys.meta_path.insert(0, _OneThread)
