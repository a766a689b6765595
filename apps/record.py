"""What one simulation says.  Everything downstream reads only this."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from apps.energy import packed, unpacked
from platforms.platform import Platform


@dataclass(frozen=True)
class Extrapolation:
    """How a record of all iterations was made from fewer."""

    iterations: int  # that the record is of
    simulated: int  # iterations really simulated
    period: int  # in iterations
    period_s: float
    bound_rel: float | None  # the run time is off by at most this share, as far as can be told; None: too few to tell
    energy_bound_rel: float | None = None  # the energy of every host is; None: too few to tell, or no energy


@dataclass(frozen=True)
class IterationEnergy:
    """What was consumed, J, from the start of the timed section until an iteration ended: for the extrapolation.

    Of a rank's host it is known for the moment at which the rank last finished computing in the iteration, or for the
    end of an iteration in which it does not compute.  From one such moment to that of a period later the host consumes
    what it does in a period.  No row: nothing computes on the host, or another of its ranks has one.
    """

    host_j: tuple[tuple[float, ...], ...] = ()  # by rank and iteration
    link_j: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # when rank 0 ends its iterations
    full_w: Mapping[str, float] = field(default_factory=dict)  # of every host that has watts, all cores busy


@dataclass(frozen=True)
class RunRecord:
    """A finished run.  Lists have one entry per rank, in rank order."""

    identity: dict[str, Any]  # every field of the RunSpec, the kernel's hash, SimGrid's version
    time_s: float  # timed section, slowest rank
    simulated_s: float  # how much of it was really simulated
    compute_s: tuple[float, ...]  # time spent computing
    comm_s: tuple[float, ...]  # time inside MPI, waiting included
    flops: float  # counted in the timed section, all ranks
    rank_flops: tuple[float, ...]
    # Point-to-point messages sent in the timed section, with their payload; those to oneself are a part of both.
    messages: tuple[int, ...]
    bytes: tuple[int, ...]
    self_messages: tuple[int, ...]
    self_bytes: tuple[int, ...]
    # Collectives by name, {"calls": of each rank, "bytes": [of each rank's arguments]}: the vector of a reduction or
    # broadcast, all that is sent in an all-to-all, the block a rank keeps included.
    collectives: dict[str, Any]
    # The same for one iteration.
    iteration_messages: tuple[int, ...]
    iteration_bytes: tuple[int, ...]
    iteration_self_messages: tuple[int, ...]
    iteration_self_bytes: tuple[int, ...]
    iteration_collectives: dict[str, Any]
    iteration_flops: tuple[float, ...]
    host: tuple[str, ...]
    iteration_s: tuple[tuple[float, ...], ...]  # per rank: end of each iteration, from the start of the timed section
    iteration_compute_s: tuple[tuple[float, ...], ...]  # per rank: compute_s so far, at the same moments
    verified: bool | None  # None: not checked (a skeleton, or fewer iterations than the official number)
    checks: dict[str, Any]  # name: [computed, published]
    wall_s: float  # of the simulation itself, start and end included
    timed_wall_s: float  # real time that rank 0's timed section took
    peak_memory_bytes: int  # of the simulation's process
    command: tuple[str, ...] = field(compare=False)  # repeats the run by hand
    source: str = "simulation"
    extrapolation: Extrapolation | None = None  # None: everything was simulated
    # Energy is counted for ``energy_span_s`` seconds, from the moment at which the first rank starts its timed section
    # to that at which the last one ends it; this is a little more than time_s, because the barrier at the start does
    # not let go all ranks at once.  J of every host, and of every link, that the platform gives watts, hosts without
    # ranks included; None: it gives none.  Of links it is what SimGrid's plugin makes of their load
    # (docs/planning/energy.md).
    energy_j: dict[str, float] | None = field(default=None, metadata={"to_json": packed, "from_json": unpacked})
    link_energy_j: dict[str, float] | None = field(default=None, metadata={"to_json": packed, "from_json": unpacked})
    energy_span_s: float | None = None
    iteration_energy: IterationEnergy | None = field(default=None, compare=False, metadata={"kept": False})

    @property
    def ranks(self) -> int:
        return len(self.host)

    @property
    def energy_by_iteration(self) -> IterationEnergy:
        """Raises ValueError for a record without it: one that has no energy, or was read back."""
        if self.iteration_energy is None:
            raise ValueError("the record does not say what its iterations consumed")
        return self.iteration_energy

    @property
    def node_seconds(self) -> float:
        """Nodes in use times the time they were in use for, s: what the run would cost on the real machines."""
        return len(set(self.host)) * self.time_s

    @property
    def used_energy_j(self) -> float | None:
        """J of the hosts that ran ranks; None where one of them has no watts."""
        if self.energy_j is None or not self.energy_j.keys() >= set(self.host):
            return None
        return math.fsum(self.energy_j[host] for host in dict.fromkeys(self.host))

    @property
    def total_energy_j(self) -> float | None:
        """J of all hosts that have watts, in use or not; links apart."""
        return None if self.energy_j is None else math.fsum(self.energy_j.values())

    def to_json(self) -> dict[str, Any]:
        """One flat JSON object: the identity's fields beside the record's."""
        data = asdict(self)
        identity = data.pop("identity")
        del data["iteration_energy"]
        return {**identity, "ranks": self.ranks, **data}


def from_kernel(
    output: dict[str, Any],
    platform: Platform,
    *,
    identity: dict[str, Any],
    wall_s: float,
    peak_memory_bytes: int,
    command: tuple[str, ...],
) -> RunRecord:
    """The record of a kernel's own JSON line (apps/common/record.c), after a run on this platform."""
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
    """The fields of a record that tell its energy, from what the program said of it; None: nothing.

    ``host_j``: as in IterationEnergy, where the program has not said it.
    """
    if said is None:
        return {}
    hosts, links = said.get("hosts"), said.get("links") or None
    iterations = said.get("iteration_links", [])
    return {
        "energy_span_s": said["span_s"],
        # SimGrid has an order of its own.
        "energy_j": hosts and {host.name: hosts[host.name] for host in platform.hosts if host.name in hosts},
        "link_energy_j": links,
        "iteration_energy": IterationEnergy(
            host_j=tuple(map(tuple, said.get("iteration_host_j", host_j))),
            # A link that has consumed nothing yet is left out.
            link_j={name: tuple(one.get(name, 0.0) for one in iterations) for name in links or ()}
            if iterations
            else {},
            full_w={host.name: host.power.full_w for host in platform.hosts if host.power is not None},
        ),
    }
