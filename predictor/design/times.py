"""What says how long the programs of a mix take on a grid that does not exist yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from apps.errors import KernelError
from apps.spec import Settings, Target
from platforms.read import materialise
from predictor.base import Cost, Evidence, Predictor
from predictor.design.request import Request
from predictor.design.space import Candidate
from predictor.evidence import Broker, RefusedEvidence
from predictor.predict import predict

if TYPE_CHECKING:
    from apps.runner import Runner

Report = Callable[[str, int, int], None]  # what is being done, how far, of how many


class NoAnswer(Exception):
    """The predictor has none for this grid; the text says why."""


@dataclass(frozen=True)
class Told:
    """What is said of a grid."""

    times_s: tuple[float, ...]  # of the programs of the mix
    flags: tuple[str, ...] = ()  # reasons to distrust them


class Times(Protocol):
    """Times of the programs of a mix, in its order."""

    levels: int  # of bounds, 0: it has none; higher ones are tighter and take longer

    def prepare(self, candidates: Sequence[Candidate], report: Report) -> None:
        """Gathers what is needed for all of them."""

    def bounds_s(self, candidate: Candidate, level: int) -> tuple[float, ...]:
        """What no time is below, for a level from 1 to ``levels``.  Raises NoAnswer."""

    def times(self, candidate: Candidate) -> Told:
        """Raises NoAnswer."""

    @property
    def cost(self) -> Cost:
        """Of the evidence so far."""


@dataclass(eq=False)
class PredictorTimes:
    """Any predictor, asked for one grid after the other.  It has no bounds, so nothing can be left out."""

    predictor: Predictor
    request: Request
    settings: Settings
    runner: Runner
    levels: int = 0
    _costs: dict[str, Cost] = field(default_factory=dict)  # by evidence

    def prepare(self, candidates: Sequence[Candidate], report: Report) -> None:
        """Nothing: what a grid needs is gathered with its times."""

    def bounds_s(self, candidate: Candidate, level: int) -> tuple[float, ...]:
        return (0.0,) * len(self.request.programs)  # true of any grid

    def times(self, candidate: Candidate) -> Told:
        grid = candidate.grid()
        platform, placement = materialise(grid), candidate.placement(grid)
        targets = [Target(program.problem, platform, placement) for program in self.request.programs]
        for target in targets:
            self.settings.spec(target)  # what is wrong with the settings is not the grid's fault
        try:
            answers = predict(self.predictor, targets, Broker.of(self.settings, targets, self.runner))
        except (KernelError, RefusedEvidence) as err:
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
        return Told(tuple(prediction.time_s for prediction in predictions), tuple(flags))

    def _pay(self, evidence: Sequence[Evidence]) -> None:
        for one in evidence:
            self._costs[one.id] = one.cost

    @property
    def cost(self) -> Cost:
        return sum(self._costs.values(), Cost())
