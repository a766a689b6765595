"""Predict how much a change of a program changes its run time, at a size that this computer cannot run.

The prediction is compared with one that was kept before the change (docs/planning/scaling.md).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from apps.errors import OptionError
from apps.options.exit_status import exit_status
from apps.options.settings import settings_from_request
from apps.programs.problem import Problem
from apps.recording.events import Kind, Op, Recording
from apps.spec.settings import resolved_compute
from platforms.command.command import Command
from platforms.command.request import option
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError
from platforms.files.reading import input_text
from platforms.files.writing import check_writable, write_text
from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import duration
from predictor import predict
from predictor.answers.answers import Answer
from predictor.graph.places import places_of
from predictor.predict import Predictions, PredictRequest
from validation.output import TOO_WRONG

if TYPE_CHECKING:  # NumPy is slow to import
    import numpy as np

COMPUTATION = "computation"
_MOST_SHOWN = 8
_SAME = 1e-9  # relative
_BY_MEMBER = (Op.ALLGATHERV, Op.ALLTOALLV, Op.REDUCE_SCATTER)  # every rank's bytes stand in its counts


# Lines move when a source is edited, so that calls are known by their operation and the function that makes them.
@dataclass(frozen=True)
class Amount:
    """Number and amount of what all ranks of a recording do."""

    times: int
    amount: float  # bytes; of computation, flops
    most: float  # amount of the rank that has most


def amounts_of(problem: Problem, recording: Recording) -> dict[str, Amount]:
    """Return what the ranks of a recording send, call and compute, by operation and calling function."""
    functions = _functions(problem, recording)
    found: dict[str, list[float]] = {}
    most: dict[str, float] = {}
    for events, counts in zip(recording.events, recording.counts, strict=True):
        of_rank: dict[str, list[float]] = {}
        for name, chosen, sizes in _parts(events, counts, recording.communicators, functions):
            sums = of_rank.setdefault(name, [0, 0.0])
            sums[0] += int(chosen.sum())
            sums[1] += float(sizes[chosen].sum())
        for name, (times, amount) in of_rank.items():
            sums = found.setdefault(name, [0, 0.0])
            sums[0] += times
            sums[1] += amount
            most[name] = max(most.get(name, 0.0), amount)
    return {name: Amount(int(times), amount, most[name]) for name, (times, amount) in sorted(found.items())}


def _functions(problem: Problem, recording: Recording) -> list[str]:
    """Return the function that makes the calls of each site; the first is that of calls whose place is not known."""
    try:
        places = places_of(problem, recording.paths)
    except UserError:  # no binutils: the operations alone
        places = (None,) * len(recording.paths)
    # A place is "file.c:12 function", or what is known of it.
    return ["", *("" if place is None else place.rpartition(" ")[2] for place in places)]


def _parts(
    events: np.ndarray, counts: np.ndarray, communicators: Sequence[Sequence[int]], functions: Sequence[str]
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield a name, which events have it, and their amounts."""
    # Imported here because it is slow to import.
    import numpy as np

    kinds = events["kind"]
    yield COMPUTATION, kinds == Kind.COMPUTE, events["amount"]
    sizes = events["size_bytes"].astype(float)
    vectors = (kinds == Kind.COLLECTIVE) & np.isin(events["op"], _BY_MEMBER)
    for place in np.flatnonzero(vectors):
        first, members = int(events["request"][place]), len(communicators[events["comm"][place]])
        sizes[place] = float(counts[first : first + members].sum())
    for kind in (Kind.SEND, Kind.COLLECTIVE):
        of_kind = kinds == kind
        for op in np.unique(events["op"][of_kind]) if kind == Kind.COLLECTIVE else (0,):
            of_op = of_kind & (events["op"] == op) if kind == Kind.COLLECTIVE else of_kind
            name = Op(int(op)).name.lower() if kind == Kind.COLLECTIVE else "send"
            for site in np.unique(events["site"][of_op]):
                function = functions[site] if 0 <= site < len(functions) else ""
                yield f"{name} in {function}" if function else name, of_op & (events["site"] == site), sizes


def differences(
    before: Mapping[str, Amount], after: Mapping[str, Amount], *, without: Set[str] = frozenset()
) -> list[str]:
    """Return what differs, one line each, at most a few; what is named in ``without`` is left out."""
    lines = []
    for name in sorted({*before, *after} - without, key=lambda name: (name == COMPUTATION, name)):
        old, new = before.get(name), after.get(name)
        unit = "flops" if name == COMPUTATION else "bytes"
        if old is None and new is not None:
            lines.append(f"{name}: new, {_times(new)}, {new.amount:,.0f} {unit}")
        elif new is None and old is not None:
            lines.append(f"{name}: gone, was {_times(old)}, {old.amount:,.0f} {unit}")
        elif old is not None and new is not None:
            lines += _changed(name, old, new, unit)
    more = len(lines) - _MOST_SHOWN
    return lines if more <= 0 else [*lines[:_MOST_SHOWN], f"and {more} more"]


def _changed(name: str, old: Amount, new: Amount, unit: str) -> Iterator[str]:
    said = []
    if name != COMPUTATION and old.times != new.times:
        said.append(f"{old.times:,} -> {_times(new)}")
    if abs(new.amount - old.amount) > _SAME * max(old.amount, new.amount):
        said.append(f"{old.amount:,.0f} -> {new.amount:,.0f} {unit}")
    if abs(new.most - old.most) > _SAME * max(old.most, new.most):
        said.append(f"of one rank at most {old.most:,.0f} -> {new.most:,.0f}")
    if said:
        yield f"{name}: {', '.join(said)}"


def _times(amount: Amount) -> str:
    return f"{amount.times:,} call" if amount.times == 1 else f"{amount.times:,} calls"


_FORMAT = "gridval baseline 1"
_REMEDY = "Make it again: another file, and --update"


@dataclass(frozen=True)
class Case:
    """One predicted time, and what it depends on beside the program's code."""

    what: Mapping[str, Any]  # program, arguments, ranks, platform, hosts, predictor and settings
    time_s: float
    low_s: float  # ends of the interval of what was measured; both are time_s where nothing was
    high_s: float
    timed: bool  # computation was timed, or the runs were made on a machine: it varies from run to run
    parts: Mapping[str, float] = field(default_factory=dict)  # s
    recorded: int | None = None  # ranks of the largest recording, from which ``calls`` comes
    calls: Mapping[str, Amount] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the program on its ranks."""
        label = f" {self.what['problem']}" if self.what.get("problem") else ""
        return f"{self.what['app']}{label} on {self.what['ranks']} ranks of {self.what['platform']}"


def write_baseline(option: str, path: str, cases: Sequence[Case]) -> None:
    """Write a baseline, whole or not at all.

    Raises:
        UserError: The file cannot be written.
    """
    content = {"format": _FORMAT, "cases": [asdict(case) for case in cases]}
    write_text(option, path, json.dumps(content, indent=1, sort_keys=True) + "\n")


def read_baseline(option: str, path: str) -> list[Case]:
    """Return the cases of a baseline.

    Raises:
        UserError: The file cannot be read, or is no baseline.
    """
    where = f"{option} {path}"
    try:
        text = input_text(path)
    except OSError as err:
        raise UserError(where, str(err.strerror), "Make it with --update") from err
    try:
        content = json.loads(text)
        if not isinstance(content, dict) or content.get("format") != _FORMAT:
            raise UserError(where, f"not a file of the form {_FORMAT!r}", _REMEDY)
        cases = [_case_read(entry) for entry in content["cases"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as err:
        raise UserError(where, f"not a baseline ({type(err).__name__})", _REMEDY) from err
    if not cases:
        raise UserError(where, "a baseline without cases", _REMEDY)
    return cases


def _case_read(entry: Mapping[str, Any]) -> Case:
    calls = {
        str(name): Amount(int(one["times"]), float(one["amount"]), float(one["most"]))
        for name, one in entry["calls"].items()
    }
    time_s, low_s, high_s = (float(entry[key]) for key in ("time_s", "low_s", "high_s"))
    if not 0 < low_s <= time_s <= high_s < math.inf:
        raise ValueError("times")
    what = dict(entry["what"])
    for key in ("app", "ranks", "platform", "predictor"):
        what[key]
    return Case(
        what,
        time_s,
        low_s,
        high_s,
        bool(entry["timed"]),
        {str(name): float(value) for name, value in entry["parts"].items()},
        None if entry["recorded"] is None else int(entry["recorded"]),
        calls,
    )


def matching(case: Case, baseline: Sequence[Case], where: str) -> Case:
    """Return the case of the baseline that a case is compared with.

    Raises:
        UserError: There is none, or it depends on something else.
    """
    alike = [other for other in baseline if other.what["app"] == case.what["app"]]
    if not alike:
        known = ", ".join(sorted({str(other.what["app"]) for other in baseline}))
        raise UserError(where, f"no program {case.what['app']} in it", f"It has {known}. {_REMEDY}")
    for other in alike:
        if other.what == case.what:
            return other
    differing = [key for key in sorted({*case.what, *alike[0].what}) if case.what.get(key) != alike[0].what.get(key)]
    said = ", ".join(
        f"{key.replace('_', ' ')} {alike[0].what.get(key)} (now {case.what.get(key)})" for key in differing
    )
    raise UserError(where, f"made with another {said}", f"Ask for the same, or: {_REMEDY.lower()}")


_LEARNED = "learned:known"
_FEW = 16  # ranks up to which a program of one's own is recorded on all of them
_SAME_PCT = 1e-7  # changes that rounding explains


@dataclass(frozen=True, kw_only=True)
class ChangeRequest(PredictRequest):
    """Targets to predict, and the predictions of the unchanged program."""

    against: str | None = option(
        None,
        "FILE.json",
        "compare with the baseline in this file, the prediction of the unchanged program: by how much the predicted "
        "time changes, and which calls do",
    )
    update: bool = option(False, help="with --against: keep the new predictions in its file, which need not exist yet")
    fail_above: float | None = option(
        None,
        "PCT",
        f"with --against: exit with status {TOO_WRONG} if a predicted time has grown by more than PCT %%; where "
        "computation is timed, only if all of its interval has",
        unit="%",
    )


@dataclass(frozen=True)
class Change:
    """A predicted time beside that of the unchanged program."""

    now: Case
    before: Case | None  # None: only a baseline is written
    lines: Sequence[str] = ()  # what differs in the recordings

    @property
    def pct(self) -> float:
        """Change of the predicted time, %."""
        return 0.0 if self.before is None else 100 * (self.now.time_s / self.before.time_s - 1)

    @property
    def least_pct(self) -> float:
        """The smallest growth that the intervals of both allow, %."""
        return 0.0 if self.before is None else 100 * (self.now.low_s / self.before.high_s - 1)


@dataclass(frozen=True)
class Changes:
    """The changes of all targets."""

    changes: Sequence[Change]
    predictions: Predictions
    limit_pct: float | None
    written_to: str | None

    @property
    def failed(self) -> list[Change]:
        """Those that have grown by more than the limit."""
        if self.limit_pct is None:
            return []
        return [change for change in self.changes if change.least_pct > max(self.limit_pct, _SAME_PCT)]

    @property
    def status(self) -> int:
        """Exit status."""
        return TOO_WRONG if self.failed else 0

    def text(self) -> str:
        """Return the changes as lines of text."""
        said = [line for change in self.changes for line in self._lines(change)]
        if self.written_to is not None:
            said.append(f"kept in {self.written_to}, for the next comparison")
        return "\n".join(said)

    def _lines(self, change: Change) -> list[str]:
        now, before = change.now, change.before
        lines = [f"{now.name}, {now.what['predictor']}: {duration(now.time_s)}"]
        if before is None:
            return lines
        same = abs(change.pct) <= _SAME_PCT
        verdict = "unchanged" if same else f"{change.pct:+.3g} % against {duration(before.time_s, like_s=now.time_s)}"
        lines[0] += f", {verdict}"
        if change in self.failed:
            lines.append(f"    fails: grown by more than {self.limit_pct:g} %")
        if now.timed or before.timed:
            lines += prose_lines(
                f"computation is timed: its interval allows a growth from {change.least_pct:+.3g} % on", indent="    "
            )
        for part in [] if same else [*now.parts]:
            if part in before.parts:
                name = {"compute_s": "computation", "comm_s": "communication"}.get(part, part.removesuffix("_s"))
                lines.append(f"    {name}: {duration(before.parts[part])} -> {duration(now.parts[part])}")
        if change.lines:
            lines.append(f"    in the recording on {now.recorded} ranks:")
            lines += [f"      {line}" for line in change.lines]
        elif now.recorded != before.recorded:
            lines.append(f"    recorded on {now.recorded} ranks, before on {before.recorded}: calls are not compared")
        elif not same and now.recorded is not None and not (now.timed or before.timed):
            lines.append("    no call, size or computation differs: the order of calls or who calls does")
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return the changes as JSON values."""
        return {
            "changes": [
                {
                    "now": asdict(change.now),
                    "before": None if change.before is None else asdict(change.before),
                    "change_pct": None if change.before is None else change.pct,
                    "least_change_pct": None if change.before is None else change.least_pct,
                    "failed": change in self.failed,
                    "differences": list(change.lines),
                }
                for change in self.changes
            ],
            "fail_above_pct": self.limit_pct,
            **self.predictions.to_json(),
        }


def answer(request: ChangeRequest) -> Changes | int:
    """Predict, and compare with the baseline, or keep one.

    Raises:
        UserError: Options do not fit together, the baseline is of something else, or there is no prediction.
    """
    limit_pct = _checked(request)
    path = str(request.against)
    baseline = None if request.update and not os.path.exists(path) else read_baseline("--against", path)
    made = _predicted(request, baseline)
    if isinstance(made, int):
        return made
    cases = [_case(best.answer, request) for best in made.answers]
    changes = []
    for case in cases:
        before = None if baseline is None else matching(case, baseline, f"--against {path}")
        lines: list[str] = []
        if before is not None and before.recorded == case.recorded:
            timed = case.timed or before.timed  # how much is computed then differs each time
            lines = differences(before.calls, case.calls, without={COMPUTATION} if timed else set())
        changes.append(Change(case, before, lines))
    if request.update:
        write_baseline("--against", path, cases)
    return Changes(changes, made, limit_pct, path if request.update else None)


def _checked(request: ChangeRequest) -> float | None:
    """Return the limit in %, and check the options."""
    if request.against is None:
        raise OptionError("--against", "no file", "Name the baseline, such as --against baseline.json")
    if request.fail_above is not None and not 0 <= request.fail_above < math.inf:
        raise OptionError(f"--fail-above {request.fail_above:g}", "not a number from 0 on", "Give %, such as 5")
    if request.update:
        check_writable("--against", request.against)
    if request.predictor is not None and len({*request.predictor.split(",")}) > 1:
        raise OptionError(f"--predictor {request.predictor}", "a change is judged by one predictor", "Name one")
    return request.fail_above


def _predicted(request: ChangeRequest, baseline: Sequence[Case] | None) -> Predictions | int:
    """Return the predictions, by the predictor of the baseline if the user names none.

    Without a baseline, a program of one's own on more than a few ranks is learned from recordings on few; where that
    has no answer, the predictor that ``gridval predict`` asks is asked.
    """
    if request.predictor is not None:
        return predict.answer(request)
    if baseline is not None:
        names = {str(case.what["predictor"]) for case in baseline}
        if len(names) > 1:
            raise UserError(f"--against {request.against}", "of several predictors", "Name one with --predictor")
        return predict.answer(replace(request, predictor=names.pop()))
    many = request.ranks is None or request.ranks > _FEW
    if request.program is None or not many or request.machine is not None:
        return predict.answer(request)
    made = predict.answer(replace(request, predictor=_LEARNED))
    if isinstance(made, int) or made.answers[0].answer.prediction is not None:
        return made
    made.cautions.say(f"{_LEARNED} has no answer: {made.answers[0].answer.refusal}")
    return predict.answer(request)


def _case(made: Answer, request: ChangeRequest) -> Case:
    """Return what is kept of an answer.

    Raises:
        UserError: There is no prediction, or it is timed and its interval is not known.
    """
    target, prediction = made.target, made.prediction
    if prediction is None:
        remedy = "Name another predictor with --predictor"
        raise UserError(f"{target}, {made.predictor}", f"no answer: {made.refusal}".rstrip("."), remedy)
    recordings = [item.answer for item in made.evidence if isinstance(item.answer, Recording)]
    timed = resolved_compute(request.compute, target.problem) == "measured" or request.machine is not None
    low_s, high_s = prediction.low_s, prediction.high_s
    if timed and (low_s is None or high_s is None):
        remedy = "Give --compute none, or let the program state its computation"
        raise UserError(f"{target}, {made.predictor}", "computation is timed, and its interval is not known", remedy)
    largest = max(recordings, key=lambda one: one.nranks, default=None)
    return Case(
        what=_what(made, request),
        time_s=prediction.time_s,
        low_s=low_s if timed and low_s is not None else prediction.time_s,
        high_s=high_s if timed and high_s is not None else prediction.time_s,
        timed=timed,
        parts=dict(prediction.parts),
        recorded=None if largest is None else largest.nranks,
        calls={} if largest is None else amounts_of(target.problem, largest),
    )


def _what(made: Answer, request: ChangeRequest) -> Mapping[str, Any]:
    """Return everything beside the program's code on which a prediction depends, as JSON values."""
    target, program = made.target, made.target.problem.program
    settings = settings_from_request(request, None, request.repeats)
    hosts = hashlib.sha256("\n".join(target.placement).encode()).hexdigest()[:16]
    return {
        "app": target.problem.name,
        "problem": target.problem.label,
        "arguments": None if program is None else list(program.arguments),
        "iterations": target.iterations,
        "ranks": target.nranks,
        "platform": target.platform.name,
        "platform_hash": target.platform.content_hash[:16],
        "hosts_hash": hosts,
        "shares": list(target.problem.shares) or None,
        "predictor": made.predictor,
        "recorded": request.recorded,
        "computation": resolved_compute(request.compute, target.problem),
        "efficiency": settings.efficiency,
        "memory_bus": settings.memory_bus,
        "options": [list(pair) for pair in settings.options],
        "machine": request.machine,
    }


COMMAND = Command(
    "predict --against",
    ChangeRequest,
    answer,
    __doc__.partition("\n")[0],
    epilog=f"{EXIT_STATUSES} Also: {TOO_WRONG} a predicted time has grown by more than --fail-above.",
    after=lambda request, made: predict.say_cautions(request, made.predictions),
    status=exit_status,
)
main = COMMAND.main
