"""Comparison of predicted run times with simulated or measured ones."""

import sys
from pathlib import Path

from predictor import __file__ as _predictor  # in the wheel, the name gridval.predictor is that of the verbs

# `python -m` looks into the current folder first, where a user may have a package of the same name.
if _predictor and Path(_predictor).parent.parent != Path(__file__).parent.parent:
    _problem = f"{Path(_predictor).parent}: hides this project's package of the same name"
    _remedy = "Rename it, start elsewhere, or use the command gridval, which does not look into the current folder"
    if sys.argv[:1] == ["-m"]:  # a command is being looked for
        print(f"error: {_problem}. {_remedy}.", file=sys.stderr)
        raise SystemExit(2)
    raise ImportError(f"{_problem}. {_remedy}.")
