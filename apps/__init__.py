"""Kernels and programs, the engines that simulate them, and the records that they return."""

import sys
from pathlib import Path

import platforms

# `python -m` searches the current folder first, where a user may have a package of the same name.
if platforms.__file__ and Path(platforms.__file__).parent.parent != Path(__file__).parent.parent:
    _problem = f"{Path(platforms.__file__).parent}: hides this project's package of the same name"
    _remedy = "Rename it, start elsewhere, or use the command gridval, which does not search the current folder"
    if sys.argv[:1] == ["-m"]:  # a command is being searched
        print(f"error: {_problem}. {_remedy}.", file=sys.stderr)
        raise SystemExit(2)
    raise ImportError(f"{_problem}. {_remedy}.")
