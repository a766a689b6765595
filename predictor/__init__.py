"""Models that predict a run time from evidence that is cheaper than the run."""

import sys
from pathlib import Path

import apps

# `python -m` looks into the current folder first, where a user may have a package of the same name.
if apps.__file__ and Path(apps.__file__).parent.parent != Path(__file__).parent.parent:
    _problem = f"{Path(apps.__file__).parent}: hides this project's package of the same name"
    _remedy = "Rename it, start elsewhere, or use the command gridval, which does not look into the current folder"
    if sys.argv[:1] == ["-m"]:  # a command is being looked for
        print(f"error: {_problem}. {_remedy}.", file=sys.stderr)
        raise SystemExit(2)
    raise ImportError(f"{_problem}. {_remedy}.")
