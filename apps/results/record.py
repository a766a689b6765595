"""The record of one run, which is all that predictors and reports read of it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from apps.results.energy import packed, unpacked
from apps.results.inputs import Inputs
from platforms.model.platform import Platform

_FAR = 3.0  # scaled median deviations from the median beyond which a repeat is an outlier
_SCALE = 1.4826  # of the median deviation of normally distributed values, in standard deviations
_NEAR_REL = 0.01  # a repeat that is this near to the median is never one


@dataclass(frozen=True)
class Measured:
    """Repeated runs on a machine.  Lists have one entry per repeat, in the order in which they ran."""

    machine: str
    repeats_s: tuple[float, ...]  # time of the timed section
    outliers: tuple[int, ...]  # indices of the repeats far from the others; they are kept
    representative: int  # index of the repeat whose time is the median; the record's other fields are of it
    load_before: tuple[float, ...]  # largest load of a host when the repeat began, averaged over a minute; -1: unknown
    load_after: tuple[float, ...]
    throttled: tuple[int, ...]  # throttling events, all hosts; -1: not reported by any
    file_s: tuple[float, ...]  # by rank: the part of its time in MPI that MPI's functions for files took
    calls_seen: int  # calls of MPI in the whole run, of the rank with the fewest
    mpi: str  # the version in the library's words
    launcher: tuple[str, ...]  # the command with its options
    date: str  # of the first repeat's start, UTC
    said: tuple[str, ...] | None = field(default=None, metadata={"may_be_absent": True})  # the launcher's cautions

    @property
    def low_s(self) -> float:
        """Shortest repeat."""
        return min(self.repeats_s)

    @property
    def high_s(self) -> float:
        """Longest repeat."""
        return max(self.repeats_s)

    @property
    def range_rel(self) -> float:
        """Range of the repeats as a share of the median."""
        return (self.high_s - self.low_s) / self.repeats_s[self.representative]


def median_repeat(times_s: Sequence[float]) -> int:
    """Return the index of the repeat with the median time; of an even number, with the lower of the middle two.

    >>> median_repeat([3.0, 1.0, 2.0])
    2
    """
    return list(times_s).index(statistics.median_low(times_s))


def far_repeats(times_s: Sequence[float]) -> tuple[int, ...]:
    """Return the indices of outliers: more than 3 scaled median deviations, and more than 1 %, from the median.

    >>> far_repeats([1.00, 1.01, 0.99, 1.02, 1.50])
    (4,)
    """
    middle = statistics.median(times_s)
    deviation = _SCALE * statistics.median(abs(time_s - middle) for time_s in times_s)
    far = max(_FAR * deviation, _NEAR_REL * middle)
    return tuple(index for index, time_s in enumerate(times_s) if abs(time_s - middle) > far)


@dataclass(frozen=True)
class Timed:
    """The computation of a program that was timed on this computer, not injected."""

    replayed: bool  # it was timed once, and replayed in this run; else it was timed in this run itself
    spread_rel: float  # by which a rank's computation may be wrong, as a share of it; 0: not known
    kept: bool = True  # what was timed is in the store: a later run takes the same
    reason: str = ""  # why it was not replayed


UNIFORM = "uniform by construction"
NOT_SHOWN = "not shown to repeat"


@dataclass(frozen=True)
class Extrapolation:
    """Extrapolation of a record of all iterations from fewer."""

    iterations: int  # number of iterations that the record describes
    simulated: int  # number of iterations that were simulated
    period: int  # length of the period in iterations
    period_s: float
    bound_rel: float | None  # estimated bound on the relative error of the run time; None: too few iterations
    energy_bound_rel: float | None = None  # the same for any host's energy; None: too few iterations, or no energy


@dataclass(frozen=True)
class IterationEnergy:
    """Energy consumed from the start of the timed section up to each iteration, J; the extrapolation needs it.

    The energy of a rank's host is known for the moment at which the rank last finished computing in the iteration, or
    for the end of an iteration in which the rank does not compute.  From such a moment to the corresponding moment a
    period later the host consumes the energy of one period.  A rank has no row if nothing computes on its host, or if
    another rank of the host has the row.
    """

    host_j: tuple[tuple[float, ...], ...] = ()  # by rank and iteration
    link_j: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # at the ends of rank 0's iterations
    full_w: Mapping[str, float] = field(default_factory=dict)  # power of every host that has watts, all cores busy


@dataclass(frozen=True)
class RunRecord:
    """A finished run.  Lists have one entry per rank, in rank order."""

    identity: dict[str, Any]  # every field of the RunSpec, the kernel's hash, SimGrid's version
    time_s: float  # timed section, slowest rank
    simulated_s: float  # the part of it that was simulated, not extrapolated
    compute_s: tuple[float, ...]  # time spent computing
    comm_s: tuple[float, ...]  # time inside MPI, waiting included
    flops: float  # counted in the timed section, all ranks
    rank_flops: tuple[float, ...]
    # Point-to-point messages sent in the timed section, and their payload; both include messages of a rank to itself.
    messages: tuple[int, ...]
    bytes: tuple[int, ...]
    self_messages: tuple[int, ...]
    self_bytes: tuple[int, ...]
    # Collectives by name, {"calls": calls of each rank, "bytes": [bytes of each rank's arguments]}.  The bytes are the
    # vector of a reduction or broadcast, and everything sent in an all-to-all, including the block a rank keeps.
    collectives: dict[str, Any]
    # The same counts for one iteration.
    iteration_messages: tuple[int, ...]
    iteration_bytes: tuple[int, ...]
    iteration_self_messages: tuple[int, ...]
    iteration_self_bytes: tuple[int, ...]
    iteration_collectives: dict[str, Any]
    iteration_flops: tuple[float, ...]
    host: tuple[str, ...]
    iteration_s: tuple[tuple[float, ...], ...]  # per rank: end of each iteration, from the start of the timed section
    iteration_compute_s: tuple[tuple[float, ...], ...]  # per rank: compute_s up to the same moments
    verified: bool | None  # None: not checked (mode skeleton, or fewer iterations than the official number)
    checks: dict[str, Any]  # name: [computed, published]
    wall_s: float  # wall time of the simulation, its start and end included
    timed_wall_s: float  # wall time of rank 0's timed section
    peak_memory_bytes: int  # of the simulation's process
    command: tuple[str, ...] = field(compare=False)  # repeats the run by hand
    source: str = "simulation"
    extrapolation: Extrapolation | None = None  # None: everything was simulated
    # Energy is counted for ``energy_span_s`` seconds, from the moment at which the first rank starts its timed section
    # to the moment at which the last rank ends it.  This is a little more than time_s, because the ranks do not leave
    # the barrier at the start at the same time.  The values are J of every host and every link for which the platform
    # gives watts, including hosts without ranks; None: the platform gives no watts.  The energy of links is what
    # SimGrid's plugin computes from their load (docs/planning/cost-and-carbon.md).
    energy_j: dict[str, float] | None = field(default=None, metadata={"to_json": packed, "from_json": unpacked})
    link_energy_j: dict[str, float] | None = field(default=None, metadata={"to_json": packed, "from_json": unpacked})
    energy_span_s: float | None = None
    iteration_energy: IterationEnergy | None = field(default=None, compare=False, metadata={"kept": False})
    # Cautions; not stored, but derived again for records from the store (apps/runs/cautions.py).
    cautions: tuple[str, ...] = field(default=(), compare=False, metadata={"kept": False})
    # What a user's program has read; the store keeps it beside the identity.  None: a kernel, or not observed.
    inputs: Inputs | None = field(default=None, compare=False, metadata={"kept": False})
    # Why the iterations that were not simulated are like the others (UNIFORM, or how they were seen to repeat) or may
    # not be (NOT_SHOWN), or why all were simulated although fewer may be; None: nothing to say.
    iterations_basis: str | None = None
    # What the recorder saw of a user's program in this run: apps.smpi.user_run.Seen.
    seen: Any = field(default=None, compare=False, metadata={"kept": False})

    # How a real machine was measured; None: a simulation.  The record is then that of the median repeat.
    measured: Measured | None = field(default=None, metadata={"may_be_absent": True})
    # Where the measured computation of a user's program comes from; None: computation is injected, or takes no time.
    timed: Timed | None = field(default=None, metadata={"may_be_absent": True})
    # Simulated time, by rank, that SimGrid charges a user's program for polls (MPI_Iprobe, MPI_Test).
    look_s: tuple[float, ...] = field(default=(), metadata={"may_be_absent": True})
    # The rank whose timed section counts, where the program's own timer does; None: the slowest one.
    timed_rank: int | None = field(default=None, metadata={"may_be_absent": True})

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.host)

    @property
    def polling_share(self) -> float:
        """Largest share of a rank's simulated time that is SimGrid's charge for polls."""
        return max(self.look_s, default=0.0) / self.simulated_s if self.simulated_s > 0 else 0.0

    @property
    def energy_by_iteration(self) -> IterationEnergy:
        """Energy up to each iteration, for the extrapolation.

        Raises:
            ValueError: The record does not have it, because it has no energy or was read from a store.
        """
        if self.iteration_energy is None:
            raise ValueError("the record has no energy per iteration")
        return self.iteration_energy

    @property
    def node_seconds(self) -> float:
        """Number of nodes in use times the run time in s of all repeats, which is the cost on real machines."""
        time_s = self.time_s if self.measured is None else math.fsum(self.measured.repeats_s)
        return len(set(self.host)) * time_s

    @property
    def once_node_s(self) -> float:
        """Number of nodes in use times the mean run time of a repeat in s."""
        return self.node_seconds / (1 if self.measured is None else len(self.measured.repeats_s))

    @property
    def used_energy_j(self) -> float | None:
        """Energy of the hosts that ran ranks, J; None if one of them has no watts."""
        if self.energy_j is None or not self.energy_j.keys() >= set(self.host):
            return None
        return math.fsum(self.energy_j[host] for host in dict.fromkeys(self.host))

    @property
    def total_energy_j(self) -> float | None:
        """Energy of all hosts that have watts, in use or not, J, without links; None if no host has watts."""
        return None if self.energy_j is None else math.fsum(self.energy_j.values())

    def to_json(self) -> dict[str, Any]:
        """Return the record as one flat JSON object that also contains the fields of its identity."""
        data = asdict(replace(self, seen=None))
        identity = data.pop("identity")
        del data["iteration_energy"], data["inputs"], data["seen"]
        for name in ("measured", "timed", "timed_rank"):
            if data[name] is None:
                del data[name]
        if self.inputs is not None:
            data["inputs"] = self.inputs.to_json()
        return {**identity, "ranks": self.ranks, **data}


def without_computation(record: RunRecord) -> bool:
    """Return whether computation takes no time in a simulated run, so that its time is one of communication alone."""
    return record.source == "simulation" and (
        record.identity.get("compute") == "none" or ("arguments" in record.identity and not any(record.compute_s))
    )


_BY_RANK = (
    *("compute_s", "comm_s", "rank_flops", "messages", "bytes", "self_messages", "self_bytes"),
    *("iteration_messages", "iteration_bytes", "iteration_self_messages", "iteration_self_bytes", "iteration_flops"),
    *("iteration_s", "iteration_compute_s"),
)


def misfit(record: RunRecord) -> str | None:
    """Return why a record that was read from a file cannot be one of a run, or None: its parts fit each other."""
    hosts = record.identity.get("host", list(record.host))
    if not record.host or list(record.host) != hosts:
        return "its hosts are not those of its run"
    for name in _BY_RANK:
        if len(getattr(record, name)) != record.ranks:
            return f"{name} has {len(getattr(record, name))} entries for {record.ranks} ranks"
    if any(len(a) != len(b) for a, b in zip(record.iteration_s, record.iteration_compute_s, strict=True)):
        return "iteration_s and iteration_compute_s have different lengths"
    for name, used in (*record.collectives.items(), *record.iteration_collectives.items()):
        counted = isinstance(used, dict) and isinstance(used.get("calls"), int | float)
        if not counted or not _is_list(used.get("bytes"), record.ranks):
            return f"the counts of {name} are not those of {record.ranks} ranks"
    if not all(_is_list(pair, 2) for pair in record.checks.values()):
        return "a check is no pair of values"
    if not all(map(math.isfinite, (record.time_s, record.simulated_s, *record.compute_s, *record.comm_s))):
        return "a time is not finite"
    return None


def _is_list(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length


def iterations_caution(record: RunRecord) -> str | None:
    """Return the caution about a record's iterations: not shown to repeat, or all simulated; None: no caution."""
    if record.iterations_basis is None:
        return None
    if record.extrapolation is None:
        return f"all iterations were simulated: {record.iterations_basis}"
    if record.iterations_basis == NOT_SHOWN:
        return "the iterations that were not simulated are not shown to repeat, so no error bound is known"
    return None


def from_kernel(
    output: dict[str, Any],
    platform: Platform,
    *,
    identity: dict[str, Any],
    wall_s: float,
    peak_memory_bytes: int,
    command: tuple[str, ...],
) -> RunRecord:
    """Return the record of a run on ``platform`` from the JSON line that the kernel printed (harness/record.c)."""
    start_s, stop_s = output["start_s"], output["stop_s"]
    elapsed_s = [stop - start for start, stop in zip(start_s, stop_s, strict=True)]
    return RunRecord(
        identity=identity,
        time_s=max(elapsed_s),
        simulated_s=max(elapsed_s),
        compute_s=tuple(output["compute_s"]),
        comm_s=tuple(e - c for e, c in zip(elapsed_s, output["compute_s"], strict=True)),
        flops=sum(output["flops"]),
        rank_flops=tuple(output["flops"]),
        messages=tuple(output["messages"]),
        bytes=tuple(output["bytes"]),
        self_messages=tuple(output["self_messages"]),
        self_bytes=tuple(output["self_bytes"]),
        iteration_messages=tuple(output["iteration_messages"]),
        iteration_bytes=tuple(output["iteration_bytes"]),
        iteration_self_messages=tuple(output["iteration_self_messages"]),
        iteration_self_bytes=tuple(output["iteration_self_bytes"]),
        collectives=output["collectives"],
        iteration_collectives=output["iteration_collectives"],
        host=tuple(output["host"]),
        iteration_s=tuple(
            tuple(end - start for end in ends) for start, ends in zip(start_s, output["iteration_end_s"], strict=True)
        ),
        verified=output["verified"],
        iteration_flops=tuple(output["flops_per_iteration"]),
        iteration_compute_s=tuple(tuple(row) for row in output["iteration_compute_s"]),
        checks=output["checks"],
        wall_s=wall_s,
        timed_wall_s=output["timed_wall_s"],
        peak_memory_bytes=peak_memory_bytes,
        command=command,
        **energy_fields(output.get("energy"), platform),
    )


def energy_fields(
    said: dict[str, Any] | None, platform: Platform, host_j: Sequence[Sequence[float]] = ()
) -> dict[str, Any]:
    """Return the energy fields of a record from the program's own energy output (None: it printed none).

    ``host_j`` is as in IterationEnergy, for programs whose output does not contain it.
    """
    if said is None:
        return {}
    hosts, links = said.get("hosts"), said.get("links") or None
    iterations = said.get("iteration_links", [])
    return {
        "energy_span_s": said["span_s"],
        # SimGrid's order differs from the platform's.
        "energy_j": hosts and {host.name: hosts[host.name] for host in platform.hosts if host.name in hosts},
        "link_energy_j": links,
        "iteration_energy": IterationEnergy(
            host_j=tuple(map(tuple, said.get("iteration_host_j", host_j))),
            # SimGrid leaves out links that have consumed nothing yet.
            link_j={name: tuple(iteration.get(name, 0.0) for iteration in iterations) for name in links or ()}
            if iterations
            else {},
            full_w={host.name: host.power.full_w for host in platform.hosts if host.power is not None},
        ),
    }
