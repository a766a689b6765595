"""Surroundings of a program: what may differ between two runs with the same inputs.

A program runs twice with its smallest number of iterations, the second time with another date, process number, host
names, random numbers, memory layout, and simulated clock.  If its ranks make the same calls, its course depends on none
of these.  Otherwise each part is changed separately, to name those that matter.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from apps.errors import KernelError, SimulationError, Stopped
from apps.recording.files import Incomplete
from apps.recording.fingerprints import calls_without_clocks, read_calls
from apps.recording.recorder.library import recorder_hash
from apps.results.inputs import Inputs
from apps.results.steady import FIRST_TRY
from apps.runs.fingerprints import silent_platform
from apps.runs.neutral import kept_options
from apps.smpi.engine import PARTS, Surroundings, note_fingerprints
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store
from apps.store.identity import identity_hash
from platforms.files.scratch import scratch_folder
from platforms.simgrid.repairs import simgrid_identity
from platforms.terminal.progress import doing

_NAMES = {
    "time": "this computer's clock",
    "process": "the number of its process",
    "random": "random numbers of the system",
    "host": "the name of this computer",
    "clock": "the simulated time",
    "layout": "memory addresses or the order of the environment",
    "marks": "dates, inodes, links or permissions of files",
    "computer": "limits or the processors of this computer, or its user",
    "names": "the name of a folder or file created for the run",
}
BY_ITSELF = "memory addresses or something else that changes by itself"
_TOGETHER = "its surroundings"
# Calls of all ranks up to which all iterations are compared: a late one may read the clock.
_MOST_CALLS = 100_000
_known: dict[str, tuple[Checked, Inputs]] = {}  # of this process, by identity


@dataclass(frozen=True)
class Checked:
    """Outcome of the comparison of two runs in different surroundings."""

    depends: tuple[str, ...]  # parts of the surroundings on which the course depends, or BY_ITSELF
    whole: bool  # all iterations were compared
    wall_s: float = 0.0  # of the runs; 0: known before

    def settled(self, inputs: Inputs) -> Inputs:
        """Return the inputs without those found to be harmless, and with those that are not."""
        harmless = {name for part, names in PARTS.items() if part not in self.depends for name in names}
        if self.depends and not set(self.depends) <= PARTS.keys():
            harmless = set()
        varies = [name for name in inputs.varies if name not in harmless]
        unnamed = [
            part_name(part) for part in self.depends if part != "clock" and not set(PARTS.get(part, ())) & {*varies}
        ]
        by_clock = "clock" not in self.depends and bool(harmless)
        return replace(
            inputs,
            varies=(*varies, *unnamed),
            depends=tuple(map(part_name, self.depends)),
            clock_is_harmless=by_clock,
            compared_whole=self.whole,
        )


def part_name(part: str) -> str:
    """Return the name of a part of the surroundings in cautions."""
    return _NAMES.get(part, part)


def settled(
    spec: RunSpec,
    inputs: Inputs | None,
    *,
    store: Store | None,
    time_limit_s: float | None = None,
    stop: threading.Event | None = None,
) -> Inputs | None:
    """Return the inputs of a run of the spec, without the sources of variation found to be harmless.

    Each program runs in two surroundings only once: the result is kept in ``store``.  If these runs fail, nothing is
        shown.

    Raises:
        Stopped: ``stop`` was set.
    """
    program = spec.target.problem.program
    if inputs is None or program is None or spec.engine != "smpi" or spec.machine is not None:
        return inputs
    inputs = assumed_repeatable(inputs, program.assumed)
    if store is None and not (inputs.varies or inputs.reads):
        return inputs
    try:
        checked = _checked(spec, inputs, store=store, time_limit_s=time_limit_s, stop=stop)
    except Stopped:
        raise
    except (SimulationError, KernelError):
        return inputs
    return checked.settled(inputs)


def assumed_repeatable(inputs: Inputs, names: Iterable[str]) -> Inputs:
    """Return the inputs without functions that do not affect the course according to the user."""
    assumed = set(names)

    def left(functions: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in functions if name not in assumed)

    return replace(inputs, varies=left(inputs.varies), clocks=left(inputs.clocks), reads=left(inputs.reads))


def _checked(
    spec: RunSpec, inputs: Inputs, *, store: Store | None, time_limit_s: float | None, stop: threading.Event | None
) -> Checked:
    identity = _identity(spec)
    key = identity_hash(identity)
    if key in _known and _known[key][1].changed() is None:
        return _known[key][0]
    if store is not None and store.unchanged("surroundings", identity):
        content = store.get_bytes("surroundings", identity)
        checked = None if content is None else _read(content)
        if checked is not None:
            return checked
    began_s = time.perf_counter()
    with doing(f"running {spec.target.problem} in other surroundings"):
        checked = _compared(spec, time_limit_s, stop)
    wall_s = time.perf_counter() - began_s
    observed = replace(inputs, varies=())
    if not observed.hidden:
        _known[key] = checked, observed
        if store is not None:
            summary = f"depends on {', '.join(map(part_name, checked.depends)) or 'nothing'}, {wall_s:.2g} s"
            content = json.dumps([checked.whole, *checked.depends]).encode()
            store.put_bytes("surroundings", identity, content, inputs=observed, summary=summary)
    return replace(checked, wall_s=wall_s)


def _identity(spec: RunSpec) -> dict[str, object]:
    """Return what determines the outcome: everything in the spec except platform and number of ranks."""
    program = spec.target.problem.program
    assert program is not None
    return {
        "app": spec.target.problem.name,
        "kernel_hash": program.content_hash,
        "recorder_hash": recorder_hash(),
        "arguments": list(program.arguments),
        "full_iterations": program.iterations,
        "assumed": sorted(program.assumed),
        "options": dict(kept_options(spec)),
        "simgrid": simgrid_identity(),
    }


def _read(content: bytes) -> Checked | None:
    try:
        data = json.loads(content)
    except ValueError:
        return None
    if not (isinstance(data, list) and data and all(isinstance(part, str) for part in data[1:])):
        return None
    return Checked(tuple(data[1:]), data[0] is True)


def _compared(spec: RunSpec, time_limit_s: float | None, stop: threading.Event | None) -> Checked:
    """Return the parts of the surroundings on which the course depends.

    A few iterations are compared, or all if the program is known to make few calls.
    """
    program = spec.target.problem.program
    assert program is not None
    parts = [part for part, names in PARTS.items() if not set(names) & set(program.assumed)]

    every = spec.target.iterations
    count = min(every, FIRST_TRY) if spec.target.problem.iterative else every
    usual = _course(spec, Surroundings(()), count, time_limit_s, stop)
    if count < every and sum(map(len, usual)) * every <= _MOST_CALLS * count:
        count = every
        usual = _course(spec, Surroundings(()), count, time_limit_s, stop)

    def same(*changed: str) -> bool:
        try:
            other = _course(spec, Surroundings(changed), count, time_limit_s, stop)
        except Stopped:
            raise
        except (SimulationError, KernelError):  # it does not even end normally there
            return False
        return all(np.array_equal(*rows) for rows in zip(usual, other, strict=True))

    if same(*parts):
        depends: tuple[str, ...] = ()
    elif not same():
        depends = (BY_ITSELF,)
    else:
        depends = tuple(part for part in parts if not same(part)) or (_TOGETHER,)
    return Checked(depends, count == every)


def _course(
    spec: RunSpec, surroundings: Surroundings, iterations: int, time_limit_s: float | None, stop: threading.Event | None
) -> list[npt.NDArray[np.uint64]]:
    """Return the hashes of all calls of each rank, without clock readings."""
    problem, nranks = spec.target.problem, spec.target.nranks
    plain = RunSpec(Target(problem, silent_platform(nranks), ("h",) * nranks), options=kept_options(spec))
    what = f"{problem.on(nranks)} in other surroundings"
    with scratch_folder("surroundings") as notes:
        done = note_fingerprints(
            plain, iterations, notes, calls=True, what=what, time_limit_s=time_limit_s, stop=stop,
            surroundings=surroundings,
        )  # fmt: skip
        try:
            calls = read_calls(notes, nranks)
        except Incomplete as err:
            raise SimulationError(f"{what}: {err}", done.log) from err
    return [calls_without_clocks(row) for row in calls]
