"""Sources of the times of a mix of programs on grids that do not exist yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from apps.errors import KernelError, OptionError, SimulationError
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.read.read import materialise
from predictor.answers.answers import predict
from predictor.base import Cost, Evidence, Predictor
from predictor.evidence.broker import Broker, RefusedEvidence
from predictor.grid.request import DesignQuestion
from predictor.grid.space import Candidate

if TYPE_CHECKING:
    from apps.runs.runner import Runner

Report = Callable[[str, int, int], None]  # called with a description, steps done, and their total number


class NoAnswer(Exception):
    """The predictor has no answer for this grid; the text gives the reason."""


@dataclass(frozen=True)
class GridTimes:
    """Times of the programs on a grid."""

    times_s: tuple[float, ...]  # in the order of the mix
    flags: tuple[str, ...] = ()  # reasons to distrust the times


class Times(Protocol):
    """Source of the times of the programs of a mix, in the order of the mix."""

    levels: int  # number of levels of bounds, 0: none; higher levels are tighter and take longer

    def prepare(self, candidates: Sequence[Candidate], report: Report) -> None:
        """Gather the evidence that serves all candidates."""

    def bounds_s(self, candidate: Candidate, level: int) -> tuple[float, ...]:
        """Return lower bounds of the programs' times, s, for a level from 1 to ``levels``.

        Raises:
            NoAnswer: A program has no answer on this grid.
        """

    def times(self, candidate: Candidate) -> GridTimes:
        """Return the programs' times on the candidate.

        Raises:
            NoAnswer: A program has no answer on this grid.
        """

    @property
    def cost(self) -> Cost:
        """Cost of the evidence so far."""


def candidate_targets(request: DesignQuestion, candidate: Candidate) -> list[Target]:
    """Return the programs of a mix on a candidate."""
    grid = candidate.grid()
    platform, placement = materialise(grid), candidate.placement(grid)
    return [Target(program.problem, platform, placement) for program in request.programs]


@dataclass(eq=False)
class PredictorTimes:
    """Times from any predictor, one grid after the other.  There are no bounds, so every grid is evaluated."""

    predictor: Predictor
    request: DesignQuestion
    settings: Settings
    runner: Runner
    levels: int = 0
    _costs: dict[str, Cost] = field(default_factory=dict)  # by id of the evidence

    def prepare(self, candidates: Sequence[Candidate], report: Report) -> None:
        """Do nothing: the evidence for a grid is gathered with its times."""

    def bounds_s(self, candidate: Candidate, level: int) -> tuple[float, ...]:
        """Return zeros, which are lower bounds on any grid."""
        return (0.0,) * len(self.request.programs)

    def times(self, candidate: Candidate) -> GridTimes:
        """Predict the programs' times on the candidate.

        Raises:
            NoAnswer: A program has no answer on this grid.
        """
        targets = candidate_targets(self.request, candidate)
        for target in targets:
            self.settings.spec(target)  # raise errors in the settings here, so that they are not blamed on the grid
        try:
            answers = predict(self.predictor, targets, Broker.of(self.settings, targets, self.runner))
        except (KernelError, OptionError, RefusedEvidence, SimulationError) as err:
            raise NoAnswer(str(err)) from err
        predictions = []
        for answer in answers:
            if answer.prediction is None:
                raise NoAnswer(answer.refusal)
            predictions.append(answer.prediction)
        self._pay(answers[0].evidence)
        flags = (
            f"{program.problem}: {flag}"
            for program, prediction in zip(self.request.programs, predictions, strict=True)
            for flag in prediction.flags
        )
        return GridTimes(tuple(prediction.time_s for prediction in predictions), tuple(flags))

    def _pay(self, evidence: Sequence[Evidence]) -> None:
        for item in evidence:
            self._costs[item.id] = item.cost

    @property
    def cost(self) -> Cost:
        """Cost of the evidence so far."""
        return sum(self._costs.values(), Cost())
