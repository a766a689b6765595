"""Simulated runs on failing hosts: the platform of each run has a state profile for every host in use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

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
