"""Curves of a predictor that learns a program: the numbers of ranks that are recorded, and what would settle doubts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from apps.spec.target import Target
from platforms.errors import UserError
from platforms.terminal.progress import doing
from platforms.wording import number_of
from predictor.answers.answers import fit
from predictor.base import CallCertainty, Gatherer, Learning, Predictor

_MOST_NAMED = 6


@dataclass(frozen=True)
class Recorded:
    """The recordings from which a curve is learned."""

    counts: tuple[int, ...]  # numbers of ranks, ascending
    graph: str  # the predictor of these numbers of ranks


def recorded_for(model: Predictor, largest: Target, broker: Gatherer) -> Recorded | None:
    """Record a program for its largest target, and learn it; None: the predictor does not learn.

    What was learned is kept for the targets that are predicted later by this process or by those that it starts.

    Raises:
        UserError: A recording cannot be had.
        SimulationError: A run of the program fails.
    """
    if not isinstance(model, Learning):
        return None
    with doing("learning the program"):
        _, evidence = fit(model, [largest], broker)
    ranks = {piece.request.target.nranks for piece in evidence if piece.request.kind == "recording"}
    return Recorded(tuple(sorted(ranks)), model.graph.name)


def advice(calls: Sequence[CallCertainty], counts: Sequence[int]) -> Iterator[str]:
    """Yield sentences about what is doubtful in a prediction, and which further recordings would settle it.

    Args:
        calls: How sure each call path is.
        counts: The numbers of ranks that were recorded.
    """
    doubtful = [call for call in calls if call.state != "exact"]
    if not doubtful:
        yield f"all {number_of(len(calls), 'call path')} are exact: no further recording is needed"
        return
    for call in doubtful[:_MOST_NAMED]:
        by = "no small number of ranks is known that would settle it"
        if call.settled_by is not None:
            by = f"a recording on {number_of(call.settled_by, 'rank')} would {_does(call)}"
        yield f"{call.call} is {call.state}: {call.detail}; {by}"
    if len(doubtful) > _MOST_NAMED:
        yield f"{number_of(len(doubtful) - _MOST_NAMED, 'more call path')} are doubtful (--json)"
    further = sorted({call.settled_by for call in doubtful if call.settled_by is not None})
    if further:
        yield f"record these too: --recorded {','.join(map(str, sorted({*counts, *further})))}"


def _does(call: CallCertainty) -> str:
    return {"fitted": "narrow its range", "unconfirmed": "confirm it"}.get(call.state, "settle it")


def check_advice(model: Predictor, *, asked: bool) -> None:
    """Check that advice is asked of a predictor that learns.

    Raises:
        UserError: It is not.
    """
    if asked and not isinstance(model, Learning):
        problem = f"goes with a predictor that learns from recordings, and {model.name} does not"
        raise UserError("--advise", problem, "Add --predictor learned:known")
