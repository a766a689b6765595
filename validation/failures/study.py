"""The checks of the formulas: runs drawn with numpy or simulated in SimGrid, and confidence intervals."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from apps.child.process import Finished, run_bounded
from apps.child.run_folder import environment, working_folder
from apps.child.verdict import as_expected, check_success, final_record
from apps.errors import SimulationError
from apps.smpi.launch import expected_status, launch, prepare
from apps.spec.run_spec import RunSpec
from platforms.errors import UserError
from platforms.files.scratch import scratch_folder
from platforms.read.content import loadable
from platforms.simgrid.installed import check_simgrid
from predictor.blocks.published.formulas import success
from predictor.failures.expected import daly, restart_from_scratch, with_checkpoints, young

CONFIDENCE = 0.99


@dataclass(frozen=True)
class Check:
    """Comparison for one quantity, a probability or a time in s."""

    quantity: str
    runs: int
    formula: float
    estimate: float
    low: float  # ends of the interval with confidence CONFIDENCE
    high: float

    @property
    def inside(self) -> bool:
        """True if the formula's value lies in the interval."""
        return self.low <= self.formula <= self.high


def probability_check(quantity: str, formula: float, *, successes: int, runs: int) -> Check:
    """Compare a probability with the share of successes and its exact interval.

    The interval is that of C. J. Clopper, E. S. Pearson, "The use of confidence or fiducial limits illustrated in the
    case of the binomial", Biometrika 26 (1934).
    """
    # Imported here because it is slow to import.
    from scipy.stats import binomtest

    interval = binomtest(successes, runs).proportion_ci(CONFIDENCE, method="exact")
    return Check(quantity, runs, formula, successes / runs, float(interval.low), float(interval.high))


def mean_check(quantity: str, formula_s: float, times_s: npt.NDArray[np.float64]) -> Check:
    """Compare an expected time with the mean of the runs and Student's interval.

    The interval assumes a normally distributed mean, which holds for the thousands of runs that are drawn.
    """
    # Imported here because it is slow to import.
    from scipy.stats import t

    runs = len(times_s)
    half = float(t.ppf((1 + CONFIDENCE) / 2, runs - 1)) * float(np.std(times_s, ddof=1)) / math.sqrt(runs)
    mean = float(np.mean(times_s))
    return Check(quantity, runs, formula_s, mean, mean - half, mean + half)


_DRAWS_AT_ONCE = 4_000_000  # 32 MB


# The runs are followed event by event, without any formula of the mean.
def first_failures(rng: np.random.Generator, runs: int, *, nodes: int, rate_per_s: float) -> npt.NDArray[np.float64]:
    """Return for each run the time until the first of its nodes fails, s; each node has its own draw."""
    rows = max(1, _DRAWS_AT_ONCE // nodes)
    parts = [
        rng.exponential(1 / rate_per_s, (min(rows, runs - begin), nodes)).min(axis=1) for begin in range(0, runs, rows)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def completion_times(
    rng: np.random.Generator,
    runs: int,
    *,
    nodes: int,
    rate_per_s: float,
    work_s: float,
    interval_s: float,
    checkpoint_s: float,
    restart_s: float,
) -> npt.NDArray[np.float64]:
    """Return the completion time of each run, s.

    A run works and writes a checkpoint after every ``interval_s`` of work, except at its end.  At a failure it loses
    the work since the last checkpoint, restarts, which another failure may interrupt, and continues.  The dates of
    failures are drawn beforehand and do not depend on what the run does.

    Args:
        rng: Source of the draws.
        runs: Number of runs.
        nodes: Nodes of a run.
        rate_per_s: Failure rate of one node, 1/s.
        work_s: Work of a run without checkpoints, s.
        interval_s: Work between checkpoints, s; infinite: no checkpoints.
        checkpoint_s: Time to write a checkpoint, s.
        restart_s: Time of a restart, s.
    """
    clock_s, saved_s, done_s = np.zeros(runs), np.zeros(runs), np.full(runs, np.nan)
    restarting = np.zeros(runs, bool)
    failure_s = first_failures(rng, runs, nodes=nodes, rate_per_s=rate_per_s)
    active = np.arange(runs)
    while active.size:
        left_s = work_s - saved_s[active]
        last = left_s <= interval_s * (1 + 1e-12)
        stretch_s = np.where(last, left_s, interval_s + checkpoint_s)
        end_s = clock_s[active] + np.where(restarting[active], restart_s, stretch_s)
        passed = end_s <= failure_s[active]
        clock_s[active] = np.where(passed, end_s, failure_s[active])
        worked = passed & ~restarting[active]
        saved_s[active] += np.where(worked & ~last, interval_s, 0.0)
        finished = worked & last
        done_s[active[finished]] = end_s[finished]
        restarting[active] = ~passed
        hit = active[~passed]
        failure_s[hit] += first_failures(rng, hit.size, nodes=nodes, rate_per_s=rate_per_s)
        active = active[~finished]
    return done_s


TIME_LIMIT_S = 120.0  # wall time of one run; reaching it is an error, not an outcome
_SIMULATED_TIME = re.compile(r"Simulated time: ([0-9.eE+-]+) seconds")
_STALL = re.compile("Deadlock detected|Stalling SMPI instance")
SUCCEEDED, STALLED, ABORTED = "succeeded", "stalled", "aborted"


@dataclass(frozen=True)
class SimulatedRuns:
    """Outcomes of runs whose hosts failed at drawn times."""

    duration_s: float  # simulated time of a run without failures
    outcomes: tuple[str, ...]  # SUCCEEDED, STALLED or ABORTED, one per run
    first_failure_s: tuple[float, ...]  # time when the first host fails, one per run

    @property
    def counts(self) -> dict[str, int]:
        """Number of runs by outcome."""
        return {name: self.outcomes.count(name) for name in (SUCCEEDED, STALLED, ABORTED)}

    @property
    def succeeded(self) -> int:
        """Number of runs that succeeded."""
        return self.counts[SUCCEEDED]

    @property
    def as_drawn(self) -> int:
        """Number of runs whose outcome agrees with the draws; runs succeed exactly if no host fails before the end."""
        pairs = zip(self.outcomes, self.first_failure_s, strict=True)
        return sum((outcome == SUCCEEDED) == (first > self.duration_s) for outcome, first in pairs)


def duration(spec: RunSpec) -> float:
    """Return the simulated time from start to end of the spec's run, without failures, s.

    Raises:
        SimulationError: The run failed.
    """
    done = _run(replace(spec, options=(*spec.options, ("smpi/display-timing", "yes"))))
    _check(spec, done)
    (text,) = _SIMULATED_TIME.findall(done.log)
    return float(text)


def simulate_failing(
    spec: RunSpec, duration_s: float, *, runs: int, rate_per_s: float, seed: int, jobs: int = 2
) -> SimulatedRuns:
    """Run the spec in full several times; each host of the placement fails for good at a drawn time.

    A stalled run and an aborted run count as failed.

    Args:
        spec: The run.
        duration_s: Simulated time of the run without failures, s.
        runs: Number of runs.
        rate_per_s: Rate of the exponential distribution of a host's time to failure, 1/s.
        seed: Seed of the draws.
        jobs: Simulations at a time.

    Raises:
        UserError: The platform is a compiled one.
        SimulationError: A run reached TIME_LIMIT_S.
    """
    file = spec.target.platform.path
    if file.suffix == ".so":
        raise UserError(str(file), "is compiled", "Give a platform in XML, to which failures of hosts can be added")
    hosts = tuple(dict.fromkeys(spec.target.placement))
    failures_s = np.random.default_rng(seed).exponential(1 / rate_per_s, (runs, len(hosts)))
    base = loadable(spec.target.platform).read_bytes()
    with scratch_folder("failing") as folder, ThreadPoolExecutor(jobs) as pool:

        def one(number: int) -> str:
            path = folder / f"{number}.xml"
            path.write_bytes(with_failures(base, dict(zip(hosts, failures_s[number], strict=True))))
            platform = replace(spec.target.platform, path=path, kept=None, content_hash=f"{seed}-{number}")
            return _outcome(replace(spec, target=replace(spec.target, platform=platform)))

        outcomes = tuple(pool.map(one, range(runs)))
    return SimulatedRuns(duration_s, outcomes, tuple(failures_s.min(axis=1).tolist()))


def with_failures(xml: bytes, failure_s: Mapping[str, float]) -> bytes:
    """Return the platform file with profiles that turn each of these hosts off for good at its time, s."""
    # Imported here because it is slow to import.
    from lxml import etree

    root = etree.fromstring(xml)
    for number, (host, at_s) in enumerate(failure_s.items()):
        trace = etree.SubElement(root, "trace", id=f"failure-{number}", periodicity="-1")
        trace.text = f"\n{at_s:.12g} 0\n"
        etree.SubElement(root, "trace_connect", kind="HOST_AVAIL", trace=f"failure-{number}", element=host)
    return etree.tostring(root.getroottree())


def _outcome(spec: RunSpec) -> str:
    done = _run(spec)
    try:
        _check(spec, done)
    except SimulationError:
        if done.timed_out:
            raise
        return STALLED if _STALL.search(done.log) else ABORTED
    return SUCCEEDED


def _check(spec: RunSpec, done: Finished) -> None:
    """Raise SimulationError unless a run was successful; a program of the user's prints no record."""
    what = str(spec.target.problem)
    if spec.target.problem.program is None:
        final_record(done, what)
    else:
        check_success(as_expected(done, expected_status(spec), what), what)


def _run(spec: RunSpec) -> Finished:
    check_simgrid()
    started = launch(spec, spec.full_iterations)
    with scratch_folder("smpi") as folder:
        command = prepare(spec, started, folder)
        work = working_folder(folder)
        return run_bounded(
            command,
            folder=folder,
            time_limit_s=TIME_LIMIT_S,
            environment=environment(folder),
            working_folder=work,
        )


_DAY_S = 86400.0
_YEAR_S = 365.25 * _DAY_S


@dataclass(frozen=True)
class FailureCase:
    """A run on failing nodes."""

    nodes: int
    node_mtbf_s: float
    work_s: float
    checkpoint_s: float
    restart_s: float

    @property
    def rate_per_s(self) -> float:
        """Failure rate of one node, 1/s."""
        return 1 / self.node_mtbf_s

    @property
    def system_rate_per_s(self) -> float:
        """Failure rate of all nodes together, 1/s."""
        return self.nodes * self.rate_per_s


# Galera+ for a month and for a year, then a larger system with a higher failure rate.
_SUCCESS_CASES = (
    FailureCase(nodes=192, node_mtbf_s=1 / 5.03372e-10, work_s=30 * _DAY_S, checkpoint_s=0, restart_s=0),
    FailureCase(nodes=192, node_mtbf_s=1 / 5.03372e-10, work_s=365 * _DAY_S, checkpoint_s=0, restart_s=0),
    FailureCase(nodes=1024, node_mtbf_s=5 * _YEAR_S, work_s=1 * _DAY_S, checkpoint_s=0, restart_s=0),
)
# A failure every two days with runs of three and of ten days; then failures so frequent that the time between failures
# is of the order of a checkpoint and a restart.
_TIME_CASES = (
    FailureCase(nodes=192, node_mtbf_s=_YEAR_S, work_s=3 * _DAY_S, checkpoint_s=600, restart_s=0),
    FailureCase(nodes=32, node_mtbf_s=_YEAR_S / 6, work_s=10 * _DAY_S, checkpoint_s=600, restart_s=1200),
    FailureCase(nodes=64, node_mtbf_s=2 * _DAY_S, work_s=10_000, checkpoint_s=300, restart_s=900),
)


def drawn_checks(runs: int, seed: int) -> list[Check]:
    """Check success and expected times of every case with ``runs`` runs each; cases have independent draws."""
    checks = []
    streams = iter(np.random.SeedSequence(seed).spawn(len(_SUCCESS_CASES) + 3 * len(_TIME_CASES)))
    for case in _SUCCESS_CASES:
        first_s = first_failures(
            np.random.default_rng(next(streams)), runs, nodes=case.nodes, rate_per_s=case.rate_per_s
        )
        name = f"success, {case.nodes} nodes, {case.work_s / _DAY_S:g} days"
        formula = float(success(case.work_s, case.nodes, case.rate_per_s))
        checks.append(probability_check(name, formula, successes=int((first_s > case.work_s).sum()), runs=runs))
    for case in _TIME_CASES:
        rate, M = case.system_rate_per_s, 1 / case.system_rate_per_s
        about = f"{case.nodes} nodes, {case.work_s:g} s, failure every {M:.4g} s"
        intervals = {
            "scratch": math.inf,
            "young": float(young(case.checkpoint_s, M)),
            "daly": float(daly(case.checkpoint_s, M)),
        }
        for name, interval_s in intervals.items():
            times_s = completion_times(
                np.random.default_rng(next(streams)), runs,
                nodes=case.nodes, rate_per_s=case.rate_per_s, work_s=case.work_s, interval_s=interval_s,
                checkpoint_s=case.checkpoint_s, restart_s=case.restart_s,
            )  # fmt: skip
            if name == "scratch":
                formula = float(restart_from_scratch(case.work_s, rate, restart_s=case.restart_s))
            else:
                formula = float(with_checkpoints(
                    case.work_s, rate,
                    interval_s=interval_s, checkpoint_s=case.checkpoint_s, restart_s=case.restart_s,
                ))  # fmt: skip
            checks.append(mean_check(f"{name}, {about}", formula, times_s))
    return checks


def simulated_check(
    spec: RunSpec, *, runs: int, success_wanted: float, seed: int, jobs: int
) -> tuple[Check, SimulatedRuns]:
    """Check the probability of success in SimGrid, for the lambda with exp(-lambda dt P) = ``success_wanted``."""
    nodes, lasts_s = spec.target.nodes, duration(spec)
    rate_per_s = -math.log(success_wanted) / (nodes * lasts_s)
    done = simulate_failing(spec, lasts_s, runs=runs, rate_per_s=rate_per_s, seed=seed, jobs=jobs)
    name = f"success, {spec.target.problem} on {nodes} nodes in SimGrid, {lasts_s:.6g} s"
    formula = float(success(lasts_s, nodes, rate_per_s))
    return probability_check(name, formula, successes=done.succeeded, runs=runs), done
