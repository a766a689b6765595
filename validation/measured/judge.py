"""Predict measured runs from those that are evidence, compare, and report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from apps.programs.problem import Problem
from apps.results.record import RunRecord
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.platform import Platform
from platforms.terminal.table import Group, table_lines
from platforms.wording import number_of
from predictor.answers.answers import Answer
from predictor.base import Evidence, EvidenceRequest, OutOfRange, Prediction, Predictor
from predictor.contention.core_times import COVERAGE
from predictor.contention.predictor import Contention
from predictor.contention.recorded import RecordedContention
from validation.comparison.compare import Failure
from validation.comparison.truth import measured_record
from validation.measured.runs import Run, RunSelector, filled_nodes, targets_of
from validation.series.case import Case
from validation.series.series import Series

LEFT_OUT, JUDGED, APART, OTHER_CLASS = "left out", "judged", "apart", "other class"
ROLES = {
    JUDGED: "predicted from the evidence",
    APART: "predicted from the evidence, reported separately",
    OTHER_CLASS: "predicted from the evidence, which has none of this class",
    LEFT_OUT: "evidence, predicted from the rest of it",
}


@dataclass(frozen=True)
class Judged:
    """A measured run and its prediction."""

    run: Run
    role: str  # of ROLES
    prediction: Prediction | None  # None: there is none
    reason: str = ""  # why there is none
    filled: int | None = None  # number of nodes that its ranks fill, if it has more

    @property
    def error(self) -> float | None:
        """Predicted less measured time, over the measured time."""
        return None if self.prediction is None else self.prediction.time_s / self.run.time_s - 1

    @property
    def within(self) -> bool | None:
        """Say whether the measured time lies in the prediction's interval; None if there is no interval."""
        prediction = self.prediction
        if prediction is None or prediction.low_s is None or prediction.high_s is None:
            return None
        return prediction.low_s <= self.run.time_s <= prediction.high_s


@dataclass(frozen=True)
class Summary:
    """The errors of the runs of one role."""

    runs: int  # with a prediction
    median_error: float  # of the errors without sign
    largest_error: float
    within: int | None  # runs in their interval; None: there are no intervals


def judged(
    runs: Sequence[Run],
    platform: Platform,
    evidence: Sequence[RunSelector],
    apart: Sequence[RunSelector],
    *,
    own: Problem | None = None,
    settings: Settings | None = None,
) -> list[Judged]:
    """Predict every run from the runs that are evidence, and those themselves from the rest of the evidence.

    Args:
        runs: The measured runs.
        platform: The cluster.
        evidence: Those that are evidence.
        apart: Those whose errors are reported separately.
        own: The user's own program, whose runs are predicted from recordings; None: there is none.
        settings: How it is recorded.

    Raises:
        UserError: No run of a known program is evidence, or the evidence contradicts the platform.
        SimulationError: Messages on the platform cannot be simulated.
    """
    filled = filled_nodes(runs, platform.hosts[0].cores)
    targets, refused = targets_of(runs, platform, filled, own)
    known = {run: target for run, target in targets.items() if any(choice.has(run) for choice in evidence)}
    if not known:
        problem = "it has no run of a known program"
        raise UserError("--evidence", problem, "Choose runs that the file has")
    classes = {(run.app, run.preset) for run in known}
    cases: list[Case] = []
    of: dict[Target, tuple[Run, str]] = {}  # its role too
    models: dict[Target, Predictor] = {}
    others = [target for run, target in targets.items() if run not in known]
    together = {is_own: _of(known.values(), others, is_own=is_own) for is_own in (False, True)}
    for run, target in sorted(targets.items(), key=lambda item: item[0] in known):
        role = JUDGED if (run.app, run.preset) in classes else OTHER_CLASS
        role = APART if any(choice.has(run) for choice in apart) else role
        # No predictor sees a run of its group: every run that is evidence is a group of its own.
        cases.append(Case(target, str(run) if run in known else "", settings or Settings()))
        of[target] = run, LEFT_OUT if run in known else role
        rest, is_own = [other for other in known.values() if other != target], target.problem.program is not None
        models[target] = _of(rest, [target], is_own=is_own) if run in known else together[is_own]
    series = Series(tuple(cases), lambda target: [models[target]])
    judgements: list[Judged] = []

    def keep(answer: Answer, *_: object) -> None:
        if answer.error is not None and not isinstance(answer.error, OutOfRange):
            raise answer.error
        run, role = of[answer.target]
        judgements.append(Judged(run, role, answer.prediction, answer.refusal or "", filled.get(run)))

    def measured(spec: RunSpec, **_: object) -> RunRecord:
        return measured_record(spec, of[spec.target][0].time_s)

    with Runner(jobs=1, simulate=measured) as runner:
        for _, outcome in series.outcomes(runner, witness=lambda _: keep):
            if isinstance(outcome, Failure):
                raise outcome.error
    return judgements + [Judged(run, JUDGED, None, reason) for run, reason in refused.items()]


def summaries(judgements: Sequence[Judged]) -> dict[str, Summary]:
    """Return the errors by role, in the order of ROLES; roles without a prediction are left out."""
    by_role = {}
    for role in ROLES:
        of_role = [judgement for judgement in judgements if judgement.role == role and judgement.prediction is not None]
        if of_role:
            errors = [abs(judgement.error) for judgement in of_role if judgement.error is not None]
            inside = [judgement.within for judgement in of_role if judgement.within is not None]
            within = sum(inside) if inside else None
            by_role[role] = Summary(len(of_role), float(np.median(errors)), max(errors), within)
    return by_role


@dataclass(frozen=True)
class _Together(Contention):
    """The predictor with the same evidence for all of its targets, whichever of them it is asked about."""

    targets: tuple[Target, ...] = ()

    def requests(self, _: Sequence[Target]) -> list[EvidenceRequest]:
        return super().requests(self.targets)

    def further(self, _: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        return super().further(self.targets, evidence)


@dataclass(frozen=True)
class _RecordedTogether(RecordedContention):
    """The same for runs of the user's own program."""

    targets: tuple[Target, ...] = ()

    def requests(self, _: Sequence[Target]) -> list[EvidenceRequest]:
        return super().requests(self.targets)


def _of(known: Iterable[Target], targets: Iterable[Target], *, is_own: bool) -> Predictor:
    """Return the predictor of the kernels or of the user's own program, with their runs as evidence."""
    runs, asked = (
        tuple(target for target in some if (target.problem.program is not None) == is_own) for some in (known, targets)
    )
    return _RecordedTogether(runs, targets=asked) if is_own else _Together(runs, targets=asked)


_HEADINGS = ("program", "class", "ranks", "nodes", "measured s", "predicted s", "error", "low s", "high s", "")


def as_text(judgements: Sequence[Judged]) -> str:
    """Return the tables that the command prints."""
    rows: list[tuple[str, ...] | Group] = [_HEADINGS]
    for role, meaning in ROLES.items():
        of_role = [judgement for judgement in judgements if judgement.role == role and judgement.prediction is not None]
        if of_role:
            rows += [Group(f"{role}: {meaning}"), *(_cells(judgement) for judgement in of_role)]
    lines = table_lines(rows, left={0, 1, 9})
    lines.append(f"low, high: {COVERAGE:.0%} interval of a single run, by the scatter of equal runs; *: not in it")
    for role, totals in summaries(judgements).items():
        within = "" if totals.within is None else f", {totals.within} in the interval"
        errors = f"median error {totals.median_error:.1%}, largest {totals.largest_error:.1%}"
        lines.append(f"{role}: {number_of(totals.runs, 'run')}, {errors}{within}")
    filled = {(one.run.ranks, one.run.nodes): one.filled for one in judgements if one.filled is not None}
    lines += [
        f"{ranks} ranks on {nodes} nodes fill {used} of them: other programs take as long on another number of nodes"
        for (ranks, nodes), used in sorted(filled.items())
    ]
    flags = [
        f"{judgement.run}: {flag}"
        for judgement in judgements
        if judgement.prediction is not None
        for flag in judgement.prediction.flags
    ]
    refusals = [
        f"{judgement.run}: no prediction: {judgement.reason}"
        for judgement in judgements
        if judgement.prediction is None
    ]
    return "\n".join(lines + [""] * bool(flags or refusals) + flags + refusals)


def _cells(judgement: Judged) -> tuple[str, ...]:
    run, prediction = judgement.run, judgement.prediction
    assert prediction is not None and judgement.error is not None
    ends = ["-" if end is None else f"{end:.5g}" for end in (prediction.low_s, prediction.high_s)]
    mark = "*" if judgement.within is False else ""
    known = (run.app, run.preset, str(run.ranks), str(run.nodes), f"{run.time_s:.6g}")
    return (*known, f"{prediction.time_s:.5g}", f"{judgement.error:+.1%}", *ends, mark)


def as_rows(judgements: Sequence[Judged]) -> list[dict[str, Any]]:
    """Return a row per run, in SI units; also the columns of the CSV file."""
    return [_row(judgement) for judgement in judgements]


def _row(judgement: Judged) -> dict[str, Any]:
    run, made = judgement.run, judgement.prediction
    return {
        "app": run.app,
        "class": run.preset,
        "ranks": run.ranks,
        "nodes": run.nodes,
        "filled_nodes": judgement.filled,
        "role": judgement.role,
        "measured_s": run.time_s,
        "predicted_s": None if made is None else made.time_s,
        "error": judgement.error,
        "low_s": None if made is None else made.low_s,
        "high_s": None if made is None else made.high_s,
        "within": judgement.within,
        "compute_s": None if made is None else made.parts["compute_s"],
        "comm_s": None if made is None else made.parts["comm_s"],
        "flags": "; ".join(made.flags) if made is not None else judgement.reason,
    }


def as_json(judgements: Sequence[Judged]) -> dict[str, Any]:
    """Return everything as JSON values."""
    totals = {
        role: {
            "runs": summary.runs,
            "median_error": summary.median_error,
            "largest_error": summary.largest_error,
            "within": summary.within,
        }
        for role, summary in summaries(judgements).items()
    }
    return {"runs": as_rows(judgements), "summary": totals}
