"""What one simulation says.  Everything downstream reads only this."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field


@dataclass(frozen=True)
class Extrapolation:
    """How a record of all iterations was made from fewer."""

    iterations: int  # that the record is of
    simulated: int  # iterations really simulated
    period: int  # in iterations
    period_s: float
    bound_rel: float | None  # the run time is off by at most this share, as far as can be told; None: too few to tell


@dataclass(frozen=True)
class RunRecord:
    """A finished run.  Lists have one entry per rank, in rank order."""

    identity: dict  # every field of the RunSpec, the kernel's hash, SimGrid's version
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
    collectives: dict
    # The same for one iteration.
    iteration_messages: tuple[int, ...]
    iteration_bytes: tuple[int, ...]
    iteration_self_messages: tuple[int, ...]
    iteration_self_bytes: tuple[int, ...]
    iteration_collectives: dict
    iteration_flops: tuple[float, ...]
    host: tuple[str, ...]
    iteration_s: tuple[tuple[float, ...], ...]  # per rank: end of each iteration, from the start of the timed section
    iteration_compute_s: tuple[tuple[float, ...], ...]  # per rank: compute_s so far, at the same moments
    verified: bool | None  # None: not checked (a skeleton, or fewer iterations than the official number)
    checks: dict  # name: [computed, published]
    wall_s: float  # of the simulation itself, start and end included
    timed_wall_s: float  # real time that rank 0's timed section took
    peak_memory_bytes: int  # of the simulation's process
    command: tuple[str, ...] = field(compare=False)  # repeats the run by hand
    source: str = "simulation"
    extrapolation: Extrapolation | None = None  # None: everything was simulated

    @property
    def ranks(self) -> int:
        return len(self.host)

    @property
    def node_seconds(self) -> float:
        """Nodes in use times the time they were in use for, s: what the run would cost on the real machines."""
        return len(set(self.host)) * self.time_s

    def to_json(self) -> dict:
        """One flat JSON object: the identity's fields beside the record's."""
        data = asdict(self)
        identity = data.pop("identity")
        return {**identity, "ranks": self.ranks, **data}


def from_kernel(
    output: dict, *, identity: dict, wall_s: float, peak_memory_bytes: int, command: tuple[str, ...]
) -> RunRecord:
    """The record of a kernel's own JSON line (apps/common/run.c)."""
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
        **{
            name: tuple(output[name])
            for prefix in ("", "iteration_")
            for name in (prefix + part for part in ("messages", "bytes", "self_messages", "self_bytes"))
        },
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
    )
