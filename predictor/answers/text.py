"""One answer in words: the time, how far it may be wrong, its parts, its energy, its cost and its cautions."""

from __future__ import annotations

import math
from collections.abc import Iterator

from apps.recording.events import Recording
from apps.results.record import RunRecord
from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import duration, range_text, significant
from predictor.answers.answers import Answer
from predictor.answers.regime import true_times
from predictor.base import Interval, Prediction

_SAME_ENERGY = 1e-9  # relative width up to which an interval of energy counts as a single value
_INDENT = "    "


def answer_lines(answer: Answer, *, why: str | None = None) -> list[str]:
    """Return the lines about one answer.

    The first line has the predicted time, unless it lies outside the range of true times that the validity map allows
    or that the model itself gives: then it has this range, and the time follows in the second line.

    Args:
        answer: The answer.
        why: Why this predictor was asked; None: the user named it.
    """
    head = f"{answer.target}, {answer.predictor}: "
    prediction = answer.prediction
    if prediction is None:
        said = [f"{head}no answer", answer.refusal or ""]
    else:
        said = [head + _headline(prediction), *_details(prediction, answer)]
    if why is not None:
        said.insert(1, f"{answer.predictor} was asked because {why}")
    return [line for number, text in enumerate(said) for line in _wrapped(text, first=number == 0)]


def _wrapped(text: str, *, first: bool) -> list[str]:
    return prose_lines(text, indent=_INDENT) if not first else prose_lines(text, indent=_INDENT, first="")


def evidence_share(answer: Answer, prediction: Prediction) -> float:
    """Return the node-seconds of the evidence, with one repeat of each run, over those of one predicted run."""
    once_s = sum(item.once_node_s for item in answer.evidence) if _repeats(answer) > 1 else prediction.cost.node_s
    return once_s / (answer.target.nodes * prediction.time_s) if prediction.time_s > 0 else 0.0


def _repeats(answer: Answer) -> int:
    """Return how often each run of the evidence was made, which is once unless a real machine made it."""
    records = [item.answer for item in answer.evidence if isinstance(item.answer, RunRecord)]
    return max((len(record.measured.repeats_s) for record in records if record.measured is not None), default=1)


def _is_measured(answer: Answer) -> bool:
    """Return whether runs or recordings of the evidence were made on a real machine."""
    gathered = [item.answer for item in answer.evidence]
    runs = any(record.source == "measurement" for record in gathered if isinstance(record, RunRecord))
    return runs or any(
        not math.isnan(recording.held_node_s) for recording in gathered if isinstance(recording, Recording)
    )


def _details(prediction: Prediction, answer: Answer) -> Iterator[str]:
    yield from _range(prediction)
    if prediction.no_interval is not None:
        yield f"no 90 % interval: {prediction.no_interval}"
    if prediction.parts:
        parts = (f"{name.removesuffix('_s')} {_time(value, prediction)}" for name, value in prediction.parts.items())
        yield f"of it {', '.join(parts)}"
    yield from _energy(prediction)
    yield _cost(prediction, answer)
    if prediction.cost.wall_s:
        made = "gathered" if _is_measured(answer) else "simulated"
        yield f"the evidence was {made} in {duration(prediction.cost.wall_s)}"
    yield from prediction.remarks
    yield from (f"caution: {flag}" for flag in prediction.flags)


def _time(time_s: float, prediction: Prediction) -> str:
    """Return a time in the unit that suits the predicted one."""
    return duration(time_s, like_s=prediction.time_s)


def _expected(prediction: Prediction) -> tuple[float, float] | None:
    """Return the range of the true time to print: the calibrated interval, else the map's, else the model's own."""
    if prediction.interval is not None:
        return prediction.interval.low_s, prediction.interval.high_s
    if prediction.error_range is not None:
        return true_times(prediction.time_s, prediction.error_range)
    if prediction.low_s is None or prediction.high_s is None:
        return None
    return prediction.low_s, prediction.high_s


def _headline(prediction: Prediction) -> str:
    """Return the predicted time, or the range of the true time where the prediction lies outside of it."""
    if not _is_biased(prediction):
        return _time(prediction.time_s, prediction)
    low_s, high_s = _expected(prediction) or (prediction.time_s, prediction.time_s)
    return range_text(_time(low_s, prediction), _time(high_s, prediction))


def _is_biased(prediction: Prediction) -> bool:
    expected = _expected(prediction)
    return expected is not None and not expected[0] <= prediction.time_s <= expected[1]


def _range(prediction: Prediction) -> Iterator[str]:
    """Yield a line about the range of the true time."""
    expected = _expected(prediction)
    if expected is None:
        yield f"error not known: {prediction.no_error_range}"
        return
    range_ = range_text(*(_time(end_s, prediction) for end_s in expected))
    errors = prediction.error_range
    time_text = _time(prediction.time_s, prediction)
    if prediction.interval is not None:
        yield _calibrated(prediction, prediction.interval, range_)
    elif errors is None:
        said = f"the model's own time of {time_text} lies outside" if _is_biased(prediction) else f"true time {range_}"
        yield f"{said}, by the model itself; error not known: {prediction.no_error_range}"
    elif _is_biased(prediction):
        times = range_text(*(significant(1 + error_pct / 100) for error_pct in (errors.low_pct, errors.high_pct)))
        side = "high" if prediction.time_s > expected[1] else "low"
        yield f"the model's own time is {time_text}, too {side} here: in such cases it was {times} times the true time"
    else:
        usual = f"{_signed(errors.low_pct)} to {_signed(errors.high_pct)} %"
        yield f"true time {range_}: errors of {usual} are usual at this compute share"


def _calibrated(prediction: Prediction, interval: Interval, range_: str) -> str:
    """Return the line about a calibrated interval."""
    level, features = f"{100 * interval.level:.0f} %", ", ".join(interval.made_of)
    said = f"true time {range_}"
    if _is_biased(prediction):
        side = "high" if prediction.time_s > interval.high_s else "low"
        said = f"the model's own time is {_time(prediction.time_s, prediction)}, too {side} in cases like this one"
    return f"{said} ({level} interval, from the errors of {interval.cases} cases weighted by likeness: {features})"


def _signed(percent: float) -> str:
    return f"{percent:+.0f}" if abs(percent) >= 100 else f"{percent:+.2g}"


def _energy(prediction: Prediction) -> Iterator[str]:
    """Yield a line about the energy, if it is known."""
    energy_j = prediction.energy_j
    if energy_j is None:
        return
    low_j = energy_j if prediction.energy_low_j is None else prediction.energy_low_j
    high_j = energy_j if prediction.energy_high_j is None else prediction.energy_high_j
    known = high_j - low_j <= _SAME_ENERGY * high_j
    range_ = "" if known else f" (between {significant(low_j)} and {significant(high_j)} J)"
    most = "" if prediction.loads is not None else "at most "
    delay = significant(energy_j * prediction.time_s)
    yield f"energy {most}{significant(energy_j)} J{range_}, energy-delay product {delay} J s"


def _cost(prediction: Prediction, answer: Answer) -> str:
    target, repeats = answer.target, _repeats(answer)
    share, cost = evidence_share(answer, prediction), prediction.cost
    run = "the predicted run" if repeats == 1 else "the predicted run, each made once"
    if share > 1:
        recorded = target.problem.program is not None and target.problem.program.recorded
        of_run = f"{significant(share)} times {run}"
        made = "making" if _is_measured(answer) else "simulating"
        of_run += "" if recorded else f": {made} the run itself is cheaper"
    else:
        of_run = f"{significant(100 * share)} % of {run}"
    return f"evidence costs {significant(cost.node_s)} node-seconds, {of_run}"
