"""One answer in words: the time, how far it may be wrong, its parts, its energy, its cost and its cautions."""

import math
from collections.abc import Iterator

from apps.recording.events import Recording
from apps.results.record import RunRecord
from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import duration, interval_text, known_duration, range_text, significant
from predictor.answers.answers import Answer
from predictor.answers.regime import true_times
from predictor.base import Interval, Prediction

_SAME_ENERGY = 1e-9  # relative width up to which an interval of energy counts as a single value
_INDENT = "    "
_BAR = 28  # characters of the bar of computation and communication


def answer_lines(answer: Answer, *, why: str | None = None) -> list[str]:
    """Return the lines about one answer: time and interval, parts and bottleneck, then what they rest on.

    The first line has the predicted time, unless it lies outside the range of true times that the validity map allows
    or that the model itself gives: then it has this range, and the time follows in the second line.

    Args:
        answer: The answer.
        why: Why this predictor was asked; None: the user named it.
    """
    head = f"{answer.target}, {answer.predictor}: "
    prediction = answer.prediction
    asked = [] if why is None else [f"{answer.predictor} was asked because {why}"]
    if prediction is None:
        said = [f"{head}no answer", *asked, answer.refusal or ""]
    else:
        first, rest = _first(prediction, answer), _details(prediction, answer)
        what = "communication time " if prediction.communication_only else ""
        said = [head + what + _headline(prediction), *first, *asked, *rest]
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


def _first(prediction: Prediction, answer: Answer) -> Iterator[str]:
    """Yield the lines that a reader needs first: how good the time is, and what it consists of."""
    yield from _range(prediction)
    yield from _parts(prediction)
    if prediction.bottleneck is not None:
        yield f"bottleneck: {prediction.bottleneck}"
    if _simulating_is_cheaper(prediction, answer):
        yield (
            "simulating the run itself is cheaper than this evidence, and exact on this platform: gridval program "
            "run; a prediction pays on a real machine, or for many platforms from the same evidence"
        )


def _details(prediction: Prediction, answer: Answer) -> Iterator[str]:
    """Yield the lines about what the answer rests on."""
    if prediction.interval is not None:
        yield _made_of(prediction.interval)
    if prediction.no_interval is not None:
        yield f"no 90 % interval: {prediction.no_interval}"
    yield from _energy(prediction)
    yield _cost(prediction, answer)
    if prediction.cost.wall_s:
        made = "gathered" if _is_measured(answer) else "simulated"
        yield f"the evidence was {made} in {duration(prediction.cost.wall_s)}"
    yield from prediction.remarks
    yield from (f"caution: {flag}" for flag in prediction.flags)


def _parts(prediction: Prediction) -> Iterator[str]:
    """Yield a line with the parts of the time; a bar shows those that are computation and communication."""
    parts = prediction.parts
    if not parts:
        return
    share = prediction.compute_share
    names = {"compute_s": "computation", "comm_s": "communication"}
    each = ", ".join(
        f"{names.get(name, name.removesuffix('_s'))} {duration(value, like_s=prediction.time_s)}"
        for name, value in parts.items()
    )
    if share is None or not parts.keys() <= names.keys():
        yield f"of it {each}"
        return
    filled = round(_BAR * share)
    yield f"[{'#' * filled}{'.' * (_BAR - filled)}] {each}"


def _simulating_is_cheaper(prediction: Prediction, answer: Answer) -> bool:
    """Return whether a simulation of the run costs less than its evidence did: a run, or a recording of all of it."""
    program = answer.target.problem.program
    if _is_measured(answer) or (program is not None and program.recorded):
        return False
    return evidence_share(answer, prediction) > 1 or any(
        item.request.kind == "recording" and item.request.iterations == item.request.target.iterations
        for item in answer.evidence
    )


def _time(prediction: Prediction) -> str:
    """Return the predicted time with the digits to which it is known."""
    expected = _expected(prediction)
    if expected is None or (prediction.interval is None and expected[0] == expected[1]):
        return duration(prediction.time_s)
    return known_duration(prediction.time_s, *expected)


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
        return _time(prediction)
    return _range_text(prediction, _expected(prediction) or (prediction.time_s, prediction.time_s))


def _range_text(prediction: Prediction, expected: tuple[float, float]) -> str:
    """Return a range of true times in the unit that suits the predicted one."""
    if prediction.interval is None and expected[0] == expected[1]:  # one error stands for all that may occur
        return duration(expected[0], like_s=prediction.time_s)
    return interval_text(*expected, like_s=prediction.time_s)


def _is_biased(prediction: Prediction) -> bool:
    expected = _expected(prediction)
    return expected is not None and not expected[0] <= prediction.time_s <= expected[1]


def _range(prediction: Prediction) -> Iterator[str]:
    """Yield a line about the range of the true time."""
    expected = _expected(prediction)
    if expected is None:
        yield f"error not known: {prediction.no_error_range}"
        return
    range_ = _range_text(prediction, expected)
    errors = prediction.error_range
    time_text = _time(prediction)
    side = "high" if prediction.time_s > expected[1] else "low"
    if prediction.interval is not None:
        odds = f"{100 * prediction.interval.level:.0f} % interval"
        said = f"{_true(prediction)} {range_} ({odds})"
        if _is_biased(prediction):
            said = f"the model's own time is {time_text}, too {side} in cases like this one ({odds})"
        yield said
    elif errors is None:
        said = (
            f"the model's own time of {time_text} lies outside"
            if _is_biased(prediction)
            else f"{_true(prediction)} {range_}"
        )
        yield f"{said}, by the model itself; error not known: {prediction.no_error_range}"
    elif _is_biased(prediction):
        times = range_text(*(significant(1 + error_pct / 100) for error_pct in (errors.low_pct, errors.high_pct)))
        yield f"the model's own time is {time_text}, too {side} here: in such cases it was {times} times the true time"
    else:
        usual = f"{_signed(errors.low_pct)} to {_signed(errors.high_pct)} %"
        yield f"{_true(prediction)} {range_}: errors of {usual} are usual at this compute share"


def _true(prediction: Prediction) -> str:
    return "true communication time" if prediction.communication_only else "true time"


def _made_of(interval: Interval) -> str:
    """Return the line about the cases behind a calibrated interval."""
    return (
        f"the {100 * interval.level:.0f} % interval is from the errors of {interval.cases} cases weighted by likeness: "
        f"{', '.join(interval.made_of)}"
    )


def _signed(percent: float) -> str:
    return f"{percent:+.0f}" if abs(percent) >= 100 else f"{percent:+.2g}"


def _energy(prediction: Prediction) -> Iterator[str]:
    """Yield a line about the energy, or about why there is none."""
    energy_j = prediction.energy_j
    if energy_j is None:
        if prediction.energy_basis is not None:
            yield f"no energy: {prediction.energy_basis}"
        return
    low_j = energy_j if prediction.energy_low_j is None else prediction.energy_low_j
    high_j = energy_j if prediction.energy_high_j is None else prediction.energy_high_j
    known = high_j - low_j <= _SAME_ENERGY * high_j
    range_ = "" if known else f" (between {significant(low_j)} and {significant(high_j)} J)"
    most = "" if prediction.loads is not None else "at most "
    delay = significant(energy_j * prediction.time_s)
    basis = "" if prediction.energy_basis is None else f", by {prediction.energy_basis}"
    yield f"energy {most}{significant(energy_j)} J{range_}, energy-delay product {delay} J s{basis}"


def _cost(prediction: Prediction, answer: Answer) -> str:
    repeats = _repeats(answer)
    share, cost = evidence_share(answer, prediction), prediction.cost
    run = "the predicted run" if repeats == 1 else "the predicted run, each made once"
    if share > 1:
        of_run = f"{significant(share)} times {run}"
        if _is_measured(answer):
            of_run += ": making the run itself is cheaper"
    else:
        of_run = f"{significant(100 * share)} % of {run}"
    return f"evidence costs {significant(cost.node_s)} node-seconds, {of_run}"
