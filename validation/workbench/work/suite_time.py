"""The time that a suite of kernels and programs will take: its steps that the store does not have, and their times."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from apps.errors import SimulationError
from apps.runs.engines import run_identity
from apps.runs.neutral import recording_identity
from apps.runs.plan import Plan
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.store import Store
from apps.store.identity import identity_hash
from platforms.errors import UserError
from validation.series.case import Case
from validation.series.series import Series
from validation.workbench.work.durations import ANSWER, MEASUREMENT, RECORDING, Step, keep, known_steps, run_step
from validation.workbench.work.estimating import Estimate, Guesses, estimated

MOST_SAMPLED = 600  # runs of a large suite that stand for all
_SMALL_S, _LIMIT_S = 2.5, 3.0  # a run that is made to know its time: what it may be guessed to take, and takes at most
_MOST_SMALL = 2  # such runs of one estimate


def sampled(campaign: Series) -> Series:
    """Return the campaign, or one with some of its runs that are chosen evenly where it has many."""
    step = math.ceil(len(campaign.cases) / MOST_SAMPLED)
    return campaign if step <= 1 else replace(campaign, cases=campaign.cases[::step])


def suite_time(
    campaign: Series, plan: Plan, store: Path, kept: Store | None, *, jobs: int, of: int, cold: bool, far: bool
) -> Estimate | None:
    """Return the time that a suite will take; None: it has no runs.

    The smallest run of a kernel of which no run was timed on this computer is made now, if it is quick.

    Args:
        campaign: The suite, or a sample of it.
        plan: Its plan.
        store: Folder of the store.
        kept: The store; None: there is none yet.
        jobs: Number of runs at a time.
        of: Number of the runs of the suite.
        cold: Worker processes have to start.
        far: Workers of a scheduler make the runs.
    """
    missing = [spec for spec in plan.specs if not _has(kept, spec)]
    time_smallest(missing, store)
    known = known_steps(store)
    truths = {spec for spec in plan.truths if spec in set(missing)}
    shared = [run_step(spec) for spec in missing if spec not in truths]
    shared += [
        run_step(spec, RECORDING, iterations) for spec, iterations in plan.recordings
        if kept is None or not kept.unchanged("recording", recording_identity(spec, iterations))
    ]  # fmt: skip
    shared += [
        Step(MEASUREMENT, experiments.measured, "", 1, max(1, len(experiments.experiments)))
        for experiments in plan.experiments
        if kept is None or kept.get("probe", identity_hash(experiments.identity())) is None
    ]
    names = {model.name for case in campaign.cases for model in campaign.asked(case.target)}
    return estimated(
        [_steps(campaign, case, truths) for case in campaign.cases], shared, ", ".join(sorted(names)), known, jobs=jobs,
        of=of, cold=cold, far=far,
    )  # fmt: skip


def _steps(campaign: Series, case: Case, truths: set[RunSpec]) -> list[Step]:
    """Return the steps of one run: its answers, and its simulation unless the store has it."""
    target = case.target
    size = f"{target.problem.name} {target.problem.label or ''}".strip()
    steps = [Step(ANSWER, model.name, size, target.nranks, target.nranks) for model in campaign.asked(target)]
    spec = case.settings.spec(target)
    return [*steps, run_step(spec)] if spec in truths else steps


def _has(store: Store | None, spec: RunSpec) -> bool:
    return store is not None and store.unchanged("record", run_identity(spec))


def time_smallest(missing: Sequence[RunSpec], store: Path, *, generated: bool = False) -> None:
    """Make the smallest run of each kernel that was never timed here, if it is quick, and write down its time.

    Args:
        missing: Runs that the store does not have.
        store: Folder of the store.
        generated: The programs are those that simulate applications of blocks; programs of users are never run here.
    """
    guesses = Guesses(known_steps(store))
    smallest: dict[str, RunSpec] = {}
    for spec in sorted(missing, key=lambda spec: run_step(spec).amount):
        if (generated or spec.target.problem.program is None) and spec.machine is None and spec.engine == "smpi":
            smallest.setdefault(spec.target.problem.name, spec)
    made: list[tuple[Step, float]] = []
    for spec in list(smallest.values())[:_MOST_SMALL]:
        step = run_step(spec)
        if guesses.is_known(step) or guesses.of(step).wall_s > _SMALL_S:
            continue
        with suppress(
            UserError,
            SimulationError,  # it takes too long, or the run will fail with this reason
        ):
            # The first run of a kernel may compile it; generated programs are compiled for every run.
            made.append((step, min(_timed(spec) for _ in range(1 if generated else 2))))
    if made:
        store.mkdir(parents=True, exist_ok=True)
        keep(store, made)


def _timed(spec: RunSpec) -> float:
    """Return the wall time of a run in a store of its own: inputs of a program are searched only for stored results."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder)) as scratch:
        started_s = time.perf_counter()
        simulate(spec, time_limit_s=_LIMIT_S, store=scratch)
        return time.perf_counter() - started_s
