"""The predictors that are asked where the user names none; they depend on the target.

``structural`` is the most accurate of those whose evidence costs less than the run, and knows the messages of a few
kernels.  ``dpgraph`` takes its place elsewhere: it records any program, but its evidence may cost more than the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from apps.spec.target import Target
from platforms.errors import UserError
from platforms.terminal.progress import doing
from predictor.answers.answers import Answer, predict
from predictor.base import Gatherer, OutOfRange, Predictor
from predictor.registry import predictor
from predictor.structural.predictor import check_range

PredictorsOf: TypeAlias = Callable[[Target], Sequence[Predictor]]

CONTRAST = ("hcf:constant", "hcf")  # beside the best one: the published model, and without its growth in eq. (7)
DEFAULT_TEXT = f"structural, or dpgraph where structural does not know the program, then {', '.join(CONTRAST)}"
BEST_TEXT = f"the first in its range of structural, dpgraph, {', '.join(CONTRAST)}"


def default_predictors(target: Target) -> list[Predictor]:
    """Return the predictors that are compared by default for a target: the best one that is in its range, and HCF."""
    best = "dpgraph" if _outside_structural(target) else "structural"
    return [predictor(name) for name in (best, *CONTRAST)]


def _outside_structural(target: Target) -> OutOfRange | None:
    """Return why ``structural`` does not describe the target; None: it does."""
    try:
        check_range(target)
    except OutOfRange as err:
        return err
    return None


@dataclass(frozen=True)
class Best:
    """The answer of the best predictor that is in its range."""

    answer: Answer
    passed: tuple[tuple[str, str], ...]  # better predictors that gave no answer, and why

    def why(self) -> str:
        """Return why this predictor was asked, in one line."""
        if not self.passed:
            return f"it is the most accurate one that knows the messages of {self.answer.target.problem.name}"
        return "; ".join(f"{name} has no answer: {reason}" for name, reason in self.passed)


def best_answer(target: Target, broker: Gatherer) -> Best:
    """Return the answer of the first of the default predictors that gives one; if none does, that of the last.

    Raises:
        UserError: The last one cannot have its evidence.
        SimulationError: A run of the evidence fails.
    """
    passed: list[tuple[str, str]] = []
    outside = _outside_structural(target)
    names = ["structural", "dpgraph", *CONTRAST]
    if outside is not None:
        passed.append((names.pop(0), outside.problem))
    while True:
        name = names.pop(0)
        try:
            with doing(f"{name} predicts {target}"):
                (answer,) = predict(predictor(name), [target], broker)
        except UserError as err:
            if not names:
                raise
            passed.append((name, str(err).rstrip(".")))
            continue
        if answer.prediction is not None or not names:
            return Best(answer, tuple(passed))
        passed.append((name, (answer.refusal or "").rstrip(".")))
