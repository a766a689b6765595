"""The simulations of a command, counted and with estimated costs before any is made."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from apps.probes.plan import Plan as ExperimentPlan
from apps.programs.kernel import named_kernel
from apps.programs.problem import Problem
from apps.results.record import RunRecord
from apps.runs.computation import RUNS, needs_work, work_identity
from apps.runs.engines import run_identity
from apps.runs.limits import EXPERIMENT_S, EvidenceLimit, rough_duration
from apps.runs.neutral import recording_identity
from apps.spec.run_spec import RunSpec
from apps.store import Store
from apps.store.identity import identity_hash
from platforms.read.routes import part_hash
from platforms.wording import number_of

_USUAL_MESSAGES = 100  # per rank and iteration, for programs that do not declare their messages
_RECORDING = 2  # rough slowdown of a run by the recorder


@dataclass(frozen=True)
class Other:
    """Simulations without a run record, such as recordings."""

    one: str  # singular name
    many: str
    count: int
    wall_s: float  # rough estimate for those that are not in the store
    kept: int = 0  # number of those in the store

    def __str__(self) -> str:
        kept = f" ({self.kept} in the store)" if self.kept else ""
        return f"{number_of(self.count, self.one, self.many)}{kept}"


@dataclass(frozen=True)
class Plan:
    """Distinct simulations, each in one group."""

    evidence: tuple[RunSpec, ...] = ()  # first requests of predictors; some request more after seeing them
    truths: tuple[RunSpec, ...] = ()  # those of the targets
    recordings: tuple[tuple[RunSpec, int], ...] = ()  # evidence too, each with its number of iterations
    experiments: tuple[ExperimentPlan, ...] = ()  # evidence too: measurements of messages and of blocks
    others: tuple[Other, ...] = ()
    askers: tuple[str, ...] = ()  # predictors that ask for recordings and experiments
    refusals: tuple[tuple[str, str, int], ...] = ()  # predictions without an answer: predictor, why, and how many
    limit: EvidenceLimit | None = None  # of the evidence of a prediction
    remark: str = ""  # about simulations that are not known yet

    @property
    def specs(self) -> tuple[RunSpec, ...]:
        """All runs."""
        return (*self.evidence, *self.truths)

    def joined(self, other: Plan) -> Plan:
        """Return this plan merged with the simulations of another one, keeping its own remark."""
        truths = {same_run(spec): spec for spec in (*self.truths, *other.truths)}
        evidence = {same_run(spec): spec for spec in (*self.evidence, *other.evidence)}
        return replace(
            self,
            evidence=tuple(spec for key, spec in evidence.items() if key not in truths),
            truths=tuple(truths.values()),
            others=(*self.others, *other.others),
            recordings=tuple(dict.fromkeys((*self.recordings, *other.recordings))),
            experiments=tuple(dict.fromkeys((*self.experiments, *other.experiments))),
            askers=tuple(dict.fromkeys((*self.askers, *other.askers))),
            refusals=(*self.refusals, *other.refusals),
        )


def for_timeline(spec: RunSpec) -> Other:
    """Return the run under the recorder that a timeline needs."""
    return Other("run for the timeline", "runs for the timeline", 1, _RECORDING * _run_s(spec))


def plan_text(plan: Plan, store: Store | None, jobs: int) -> str:
    """Return a plan in words: number of simulations, number in the store, and estimated time of the others.

    Args:
        plan: The plan.
        store: The store of the command; None: it has none.
        jobs: Number of simulations at a time; 0: the text has no times.
    """
    known = {spec: record for spec in plan.specs if (record := _kept(spec, store)) is not None}
    evidence = [*_recordings(plan.recordings, store), *_experiments(plan.experiments, store)]
    others = [*plan.others, *_timings([*plan.specs, *(spec for spec, _ in plan.recordings)], store)]
    more_lines = evidence or others or plan.refusals
    lines = [] if more_lines and not plan.specs else [_runs_text(plan, known, jobs)]
    lines += _costs(plan, known)
    for steps, asker in ((evidence, ", ".join(plan.askers)), (others, "")):
        if steps:
            listed = " and ".join(map(str, steps)) + (f" for {asker}" if asker else "")
            time_s = sum(step.wall_s for step in steps)
            time = f", about {rough_duration(time_s)}" if time_s and jobs else ""
            lines.append(f"{'besides these, ' if lines else ''}{listed}{time}")
    lines += refusal_lines(plan.refusals)
    if plan.limit is not None and (plan.recordings or plan.experiments or plan.refusals):
        lines.append(f"limit of a prediction's evidence: {plan.limit} (--evidence-time, --evidence-memory)")
    return "\n".join([*lines, *([plan.remark] if plan.remark else [])])


def refusal_lines(refusals: Iterable[tuple[str, str, int]]) -> list[str]:
    """Return a line for each reason for predictions without an answer."""
    return [f"no answer from {name}, {number_of(many, 'prediction')}: {reason}" for name, reason, many in refusals]


def _runs_text(plan: Plan, known: dict[RunSpec, RunRecord], jobs: int) -> str:
    missing = [spec for spec in plan.specs if spec not in known]
    counts = [f"{len(plan.truths)} of targets"] if plan.truths else []
    counts += [f"{len(plan.evidence)} for evidence"] if plan.evidence else []
    line = number_of(len(plan.specs), "run") + (f" ({', '.join(counts)})" if counts else "")
    machine = next((spec.machine for spec in plan.specs if spec.machine is not None), None)
    if machine is not None:
        repeats = max(spec.repeats for spec in plan.specs)
        times = f", each {number_of(repeats, 'time')}" if repeats > 1 else ""
        line += f" on machine {machine.name}{times}: {len(known)} in the store, {len(missing)} to make"
        return line + (", one at a time" if len(missing) > 1 else "")
    line += f": {len(known)} in the store, {len(missing)} to simulate"
    if missing and jobs:
        at_once = min(jobs, len(missing))
        line += f", about {rough_duration(wall_s(missing, jobs))} with {at_once} at a time"
    return line


def _costs(plan: Plan, known: dict[RunSpec, RunRecord]) -> Iterator[str]:
    """Yield a line about the cost of evidence from runs."""
    if not plan.evidence:
        return
    paid = [known[spec].node_seconds for spec in plan.evidence if spec in known]
    unknown = len(plan.evidence) - len(paid)
    said = [f"{sum(paid):.3g} node-seconds for {number_of(len(paid), 'run')} in the store"] if paid else []
    said += [f"not known yet for {number_of(unknown, 'run')}"] if unknown else []
    yield f"cost of the evidence: {', '.join(said)}"


def _recordings(wanted: Sequence[tuple[RunSpec, int]], store: Store | None) -> Iterator[Other]:
    """Yield the recordings, if there are any."""
    missing = [
        (spec, iterations)
        for spec, iterations in wanted
        if store is None or not store.unchanged("recording", recording_identity(spec, iterations))
    ]
    if wanted:
        time_s = _RECORDING * sum(_run_s(spec, iterations) for spec, iterations in missing)
        yield Other("recording", "recordings", len(wanted), time_s, len(wanted) - len(missing))


def _timings(specs: Sequence[RunSpec], store: Store | None) -> Iterator[Other]:
    """Yield the timings of programs' computation, if there are any; their duration is not known in advance."""
    wanted = {identity_hash(identity): identity for identity in map(work_identity, filter(needs_work, specs))}
    kept = sum(store is not None and store.unchanged("computation", identity) for identity in wanted.values())
    if wanted:
        runs = f"of a program's computation (1 to {RUNS} runs{'' if len(wanted) == 1 else ' each'})"
        yield Other(f"timing {runs}", f"timings {runs}", len(wanted), 0.0, kept)


def _experiments(wanted: Sequence[ExperimentPlan], store: Store | None) -> Iterator[Other]:
    """Yield the measurements of messages and those of other kinds, if there are any."""
    for name in dict.fromkeys(plan.measured for plan in wanted):
        experiments = [plan for plan in wanted if plan.measured == name]
        missing = [
            plan for plan in experiments
            if store is None or store.get("probe", identity_hash(plan.identity())) is None
        ]  # fmt: skip
        time_s = sum(0.1 + EXPERIMENT_S * len(experiment.experiments) for experiment in missing)
        names = f"measurement of {name}", f"measurements of {name}"
        yield Other(*names, len(experiments), time_s, len(experiments) - len(missing))


def _kept(spec: RunSpec, store: Store | None) -> RunRecord | None:
    return None if store is None else store.get_record(run_identity(spec), inexact=spec.machine is not None, quiet=True)


def wall_s(specs: Iterable[RunSpec], jobs: int) -> float:
    """Return a rough wall time, s, to simulate these runs, ``jobs`` at a time.

    The estimate assumes 0.1 s to start a run and 1e5 messages per second and job.  The messages of an iteration follow
    from the kernels' patterns, within a factor of about two; steady runs are assumed to take five iterations.
    """
    return sum(_run_s(spec) for spec in specs) / jobs


def same_run(spec: RunSpec) -> tuple[object, ...]:
    """Return a key that is equal for runs made only once by the runner (apps/runs/runner.py)."""
    target = spec.target
    return target.problem, part_hash(target.platform, target.placement), target.placement, spec.efficiency


def _run_s(spec: RunSpec, iterations: int | None = None) -> float:
    """Return the rough wall time of a run, s, of a number of iterations; None: as in the spec."""
    target = spec.target
    ranks, official = target.nranks, target.iterations
    if iterations is None:
        policies = {"full": official, "steady": min(5, official)}
        iterations = spec.iterations if isinstance(spec.iterations, int) else policies[spec.iterations]
    return 0.1 + iterations * ranks * _messages(target.problem, ranks) / 1e5


def _messages(problem: Problem, ranks: int) -> float:
    """Return the rough number of messages per rank and iteration, as declared in a kernel's folder."""
    counted = None if problem.program is not None else named_kernel(problem.name).optional("exchanges", "rank_messages")
    return _USUAL_MESSAGES if counted is None else float(counted(dict(problem.params), ranks))
