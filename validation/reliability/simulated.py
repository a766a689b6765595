"""Programs in SimGrid on hosts that fail: each run's platform has a state profile for every host that it uses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from apps.errors import SimulationError
from apps.launch import environment, launch, prepare
from apps.process import Finished, run_bounded
from apps.spec import RunSpec
from apps.verdict import final_record
from platforms.errors import UserError
from platforms.scratch import scratch_folder
from platforms.simgrid import check_simgrid

TIME_LIMIT_S = 120.0  # wall time of one run; reaching it is no outcome, but an error
_SIMULATED_TIME = re.compile(r"Simulated time: ([0-9.eE+-]+) seconds")
_STALL = re.compile("Deadlock detected|Stalling SMPI instance")
SUCCEEDED, STALLED, ABORTED = "succeeded", "stalled", "aborted"


@dataclass(frozen=True)
class SimulatedRuns:
    """What became of runs whose hosts failed at drawn times."""

    duration_s: float  # of a run that nothing befalls
    outcomes: tuple[str, ...]  # of each run: SUCCEEDED, STALLED or ABORTED
    first_failure_s: tuple[float, ...]  # of each run: when the first of its hosts fails

    @property
    def counts(self) -> dict[str, int]:
        """How many there are of each outcome."""
        return {name: self.outcomes.count(name) for name in (SUCCEEDED, STALLED, ABORTED)}

    @property
    def succeeded(self) -> int:
        return self.counts[SUCCEEDED]

    @property
    def as_drawn(self) -> int:
        """Runs that succeeded just where no host was to fail before the end."""
        pairs = zip(self.outcomes, self.first_failure_s, strict=True)
        return sum((outcome == SUCCEEDED) == (first > self.duration_s) for outcome, first in pairs)


def duration(spec: RunSpec) -> float:
    """Simulated time from the start of the spec's program to its end, without failures, s.  Raises SimulationError."""
    done = _run(replace(spec, options=(*spec.options, ("smpi/display-timing", "yes"))))
    final_record(done, str(spec.target.problem))
    (text,) = _SIMULATED_TIME.findall(done.log)
    return float(text)


def simulate_failing(
    spec: RunSpec, duration_s: float, *, runs: int, rate_per_s: float, seed: int, jobs: int = 2
) -> SimulatedRuns:
    """Runs the spec in full so often, each host of the placement failing for good at a time from exp(rate_per_s).

    ``duration_s``: of the run without failures.  A stalled and an aborted run have both failed.
    """
    file = spec.target.platform.path
    if file.suffix == ".so":
        raise UserError(str(file), "is compiled", "Give a platform in XML, to which failures of hosts can be added")
    hosts = tuple(dict.fromkeys(spec.target.placement))
    failures_s = np.random.default_rng(seed).exponential(1 / rate_per_s, (runs, len(hosts)))
    base = file.read_bytes()
    with scratch_folder("failing") as folder, ThreadPoolExecutor(jobs) as pool:

        def one(number: int) -> str:
            path = folder / f"{number}.xml"
            path.write_bytes(with_failures(base, dict(zip(hosts, failures_s[number], strict=True))))
            platform = replace(spec.target.platform, path=path, content_hash=f"{seed}-{number}")
            return _outcome(replace(spec, target=replace(spec.target, platform=platform)))

        outcomes = tuple(pool.map(one, range(runs)))
    return SimulatedRuns(duration_s, outcomes, tuple(failures_s.min(axis=1).tolist()))


def with_failures(xml: bytes, failure_s: Mapping[str, float]) -> bytes:
    """A platform file in which each of these hosts switches off at its time, s, and never on again."""
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
        final_record(done, str(spec.target.problem))
    except SimulationError:
        if done.timed_out:
            raise
        return STALLED if _STALL.search(done.log) else ABORTED
    return SUCCEEDED


def _run(spec: RunSpec) -> Finished:
    check_simgrid()
    started = launch(spec, spec.full_iterations)
    with scratch_folder("smpi") as folder:
        command = prepare(spec, started, folder)
        return run_bounded(command, folder=folder, time_limit_s=TIME_LIMIT_S, environment=environment(folder))
