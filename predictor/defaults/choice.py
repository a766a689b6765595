"""The predictors that are asked where the user names none; they depend on the target, and on what is at hand.

A comparison with simulated runs (``default_predictors``) asks ``structural``, or ``dpgraph`` where ``structural`` does
not know the program: both measure the network.  ``dpgraph:known`` would be compared with its own description of it.

A prediction alone (``best_answer``) asks ``dpgraph:known`` where a platform file is all there is: of the predictors it
is the most accurate there, and its evidence is a recording of a few iterations (docs/predictors/index.md has the
figures).  On a real machine the network has to be measured.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from apps.spec.target import Target
from apps.traffic import runs_on
from platforms.errors import UserError
from platforms.terminal.progress import doing
from predictor.answers.answers import Answer, predict
from predictor.base import Gatherer, OutOfRange, Predictor
from predictor.registry import predictor
from predictor.structural.predictor import check_range

PredictorsOf: TypeAlias = Callable[[Target], Sequence[Predictor]]

CONTRAST = ("hcf:constant", "hcf")  # beside the best one: the published model, and without its growth in eq. (7)
DEFAULT_TEXT = f"structural, or dpgraph where structural does not know the program, then {', '.join(CONTRAST)}"
MEASURING = ("structural", "dpgraph")  # the most accurate that measure the network, the cheaper one first
KNOWING = "dpgraph:known"  # reads the network in the platform file
BEST_TEXT = (
    f"the first in its range of {', '.join((KNOWING, *MEASURING, *CONTRAST))}; of {MEASURING[0]} on with --machine"
)


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
        if self.passed:
            return "; ".join(f"{name} has no answer: {reason}" for name, reason in self.passed)
        if self.answer.predictor == KNOWING:
            return (
                "a platform file is all there is, and it is the most accurate predictor of what such a file describes"
            )
        return "of the predictors that measure the network it needs the cheapest evidence"


def best_names(target: Target, *, on_machine: bool) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the predictors to ask about a target until one answers, and those outside their range, with the reason.

    Args:
        target: The target.
        on_machine: The evidence is measured on a real machine.
    """
    outside = _outside_structural(target)
    names = [*([] if on_machine else [KNOWING]), *MEASURING, *CONTRAST]
    if outside is None:
        return names, []
    names.remove("structural")
    return names, [("structural", outside.problem)]


def best_answer(target: Target, broker: Gatherer, *, on_machine: bool = False) -> Best:
    """Return the answer of the first of the best predictors that gives one; if none does, that of the last.

    Args:
        target: The target.
        broker: Gathers the evidence.
        on_machine: As ``best_names``.

    Raises:
        UserError: The last one cannot have its evidence, or the program does not run on this number of ranks.
        SimulationError: A run of the evidence fails.
    """
    names, passed = best_names(target, on_machine=on_machine)
    if not on_machine:
        passed = []  # asked only if the first one has no answer
    while True:
        name = names.pop(0)
        try:
            with doing(f"{name} predicts {target}"):
                (answer,) = predict(predictor(name), [target], broker)
        except UserError as err:
            if not names or not runs_on(target.problem, target.nranks):  # a run that cannot be made cannot be predicted
                raise
            passed.append((name, str(err).rstrip(".")))
            continue
        if answer.prediction is not None or not names:
            return Best(answer, tuple(passed))
        passed.append((name, (answer.refusal or "").rstrip(".")))
