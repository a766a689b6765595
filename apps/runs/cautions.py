"""The cautions about one run, one recording or one series of experiments, all derived here.

They are derived, not stored, so that results from the store carry the same cautions as new ones.  A sentence that is
added here reaches every command that uses runs (apps/results/cautions.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from apps.probes.plan import Plan
from apps.programs.own_program import UserProgram
from apps.recording.events import Kind, Mark, Recording
from apps.results.cautions import COMMUNICATION, MEASURED
from apps.results.record import NOT_SHOWN, Measured, RunRecord, Timed, iterations_caution
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.addons import is_there, provided
from platforms.model.platform import Change
from platforms.simgrid.repairs import simgrid_identity

_FARMS = "apps.recording.farms:answers_in_turn"  # of an add-on
_LOCKED = (
    "one-sided calls wait for their own messages (locks, flushes or MPI_Accumulate): SimGrid lets ranks wait for each "
    "other at a window, which predictions from a recording leave out"
)
SPREAD_REL = 0.1  # possible relative error of measured computation that causes no caution
_POLLING_MATTERS = 0.05  # share of the time above which the charge for polls causes a caution
CHARGED = (
    "SimGrid's charge for polling for messages (MPI_Iprobe, MPI_Test and similar calls, 0.1 ms each), not a time of a "
    "machine: --cfg smpi/iprobe:1e-6 --cfg smpi/test:1e-6 charges 1 µs"
)
_BUSY = 0.5  # load above which a host is used by others
_REPAIRED = re.compile(r"(.+)-[0-9a-f]{16}")  # as returned by simgrid_identity


def run_cautions(spec: RunSpec, record: RunRecord) -> tuple[str, ...]:
    """Return the cautions about a run's record."""
    if record.measured is not None:
        return tuple(_of_measured(record.measured, record.ranks))
    if record.source != "simulation":
        return ()
    return tuple(_of_run(spec, record))


def extrapolation_caution(record: RunRecord) -> str | None:
    """Return from how many iterations a record was extrapolated, with the error bound; None: all were simulated."""
    how = record.extrapolation
    if how is None:
        return None
    bound = "an unknown error" if how.bound_rel is None else f"a relative error of at most {how.bound_rel:.1g}"
    return (
        f"{how.simulated} of {how.iterations} iterations were simulated: they repeat; the others are extrapolated from "
        f"them, with {bound}"
    )


def recording_cautions(spec: RunSpec, recording: Recording) -> tuple[str, ...]:
    """Return the cautions about results from a recording of the spec's problem."""
    return tuple(_of_recording(spec, recording))


def target_cautions(target: Target) -> tuple[str, ...]:
    """Return the cautions that apply to every run of a target, independent of its record."""
    return (*_changes(target.changes), *_repairs(simgrid_identity()))


def experiments_cautions(plan: Plan) -> tuple[str, ...]:
    """Return the cautions about results from experiments with messages or blocks."""
    if plan.machine is not None:  # neither the platform nor SimGrid was involved
        return ()
    return (*_changes(plan.changes), *_repairs(simgrid_identity()))


def _of_run(spec: RunSpec, record: RunRecord) -> Iterator[str]:
    problem = spec.target.problem
    program, extrapolated = problem.program, extrapolation_caution(record)
    if spec.compute == "none":
        yield COMMUNICATION
    if record.timed is not None:
        yield from _of_timed(record.timed)
    if program is not None and program.native is not None:
        yield (
            f"{program.name} itself is not simulated: the time is that of its recording under "
            f"{program.native.family.name} on this computer, replayed in SMPI"
        )
    if program is not None and spec.compute == "injected" and not any(record.compute_s):
        yield _no_computation(program)
    if record.polling_share > _POLLING_MATTERS:
        yield f"{100 * record.polling_share:.0f} % of the time of a rank is {CHARGED}"
    if record.inputs is not None:
        yield from _varying(record.inputs.varies)
        yield from _threads(record.inputs.threads)
    if extrapolated is not None:
        yield extrapolated
    about_iterations = iterations_caution(record)
    if about_iterations is not None and (program is not None or record.iterations_basis == NOT_SHOWN):
        yield about_iterations
    yield from _changes(spec.target.changes)
    yield from _repairs(str(record.identity.get("simgrid", "")))


def retimed(reason: str) -> str:
    """Return the caution about computation that could not be replayed and was timed in the run itself."""
    return f"{MEASURED}; it was not replayed: {reason}"


def _of_timed(timed: Timed) -> Iterator[str]:
    if timed.reason:
        yield retimed(timed.reason)
    elif not timed.replayed:
        yield MEASURED
    elif not timed.kept:
        yield f"{MEASURED}, because the store does not contain the timings"
    yield from _spread(timed.spread_rel)


def _spread(spread_rel: float) -> Iterator[str]:
    """Yield the possible error of measured computation."""
    if spread_rel > SPREAD_REL:
        yield f"the program's computation, timed on this computer, may be wrong by {100 * spread_rel:.0f} %"


def _of_measured(measured: Measured, ranks: int) -> Iterator[str]:
    count = len(measured.repeats_s)
    if measured.outliers:
        times = ", ".join(f"{measured.repeats_s[index]:.4g} s" for index in measured.outliers)
        yield f"{len(measured.outliers)} of {count} repeats are far from the others, and kept: {times}"
    if any(events > 0 for events in measured.throttled):
        slowed = sum(events > 0 for events in measured.throttled)
        yield f"processors were slowed for heat or power in {slowed} of {count} repeats"
    if max(measured.load_before[:1]) > _BUSY:
        yield f"a host was busy before the first repeat: its load was {measured.load_before[0]:.2g}"
    if ranks > 1 and measured.calls_seen == 0:
        yield "no MPI call was observed, so all time counts as computation"
    yield from measured.said or ()


def _of_recording(spec: RunSpec, recording: Recording) -> Iterator[str]:
    problem = spec.target.problem
    program = problem.program
    if spec.compute == "none":
        yield COMMUNICATION
    if recording.measured and spec.machine is not None:
        yield f"computation is timed on machine {spec.machine.name}: results vary from run to run"
    elif program is not None and program.native is not None:
        yield (
            f"recorded by one run under {program.native.family.name} on this computer: its computation is the "
            "processor time that the ranks took in it"
        )
    elif recording.timed:
        yield MEASURED
    yield from _spread(recording.spread_rel)
    if program is not None and spec.compute == "injected" and not recording.computes:
        yield _no_computation(program)
    if recording.asks:
        yield f"the program queries its hosts with {recording.asks[0]}: on the target's it may behave differently"
    yield from _varying(recording.varies)
    yield from _threads(recording.threads)
    looks, events = (sum(map(len, rows)) for rows in (_looks(recording), recording.events))
    if looks > _POLLING_MATTERS * events:
        yield f"{looks} of its {events} events are polls, each with {CHARGED}"
    if recording.waits_at_windows:
        yield _LOCKED
    if program is not None and is_there(_FARMS):
        answered = provided(_FARMS)(recording)
        if answered:
            yield (
                f"{answered} messages from any source are answered in the arrival order of the recording, "
                "on equal hosts: on other hosts, other ranks do the work"
            )
    if problem.iterative:
        first, iterations = recording.events[0], spec.target.iterations
        recorded = int(((first["kind"] == Kind.MARK) & (first["op"] == Mark.ITERATION)).sum())
        if not recorded:
            searched = program is not None and program.period == 1 and spec.engine == "smpi"
            hint = " (--program-period K records few, if they repeat every K)" if searched else ""
            yield f"all iterations were recorded, because they were not shown to be alike{hint}"
        elif recorded < iterations:
            yield f"{recorded} of {iterations} iterations were recorded: the others are assumed to be like them"
    if spec.machine is None:
        yield from _repairs(simgrid_identity())


def _looks(recording: Recording) -> list[Any]:
    return [events[events["kind"] == Kind.POLL] for events in recording.events]


def _threads(asked: bool) -> Iterator[str]:
    if asked:
        yield "the program asks for threads that call MPI: it was granted MPI_THREAD_FUNNELED, one thread of each rank"


def _varying(names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"the program queries {names[0]}, whose results change by themselves: results may vary from run to run"


def _no_computation(program: UserProgram) -> str:
    remedy = "charge flops by rank.compute" if program.is_python else "--compute measured times it"
    return f"the program injects no computation: all times are those of communication alone; {remedy}"


def _changes(changes: Sequence[Change]) -> Iterator[str]:
    if changes:
        more = f", and {len(changes) - 1} more" if len(changes) > 1 else ""
        yield f"the platform changes while the program runs: {changes[0]}{more}"


def _repairs(simgrid: str) -> Iterator[str]:
    repaired = _REPAIRED.fullmatch(simgrid)
    if repaired is not None:
        yield (
            f"SimGrid {repaired[1]} ran with this project's repairs of its routes and of the energy of links: "
            "without them its results differ (docs/validation/faults.md)"
        )
