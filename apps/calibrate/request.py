"""Request of ``gridval platform calibrate``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass

from platforms.command.request import JsonOption, Request, WideOption, option

COLLECTIVES = ("ompi", "mpich", "mvapich2", "impi", "default")  # values of smpi/coll-selector
MOST_NODES = 1_000_000
MOST_CORES = 1_000_000
MOST_BUDGET_S = 86_400
ALLTOALLS = ("ring", "pair", "basic_linear", "bruck", "selector")  # values of smpi/alltoall, or that of the selector
ENDING = ".xml"
HOLD_OUT = 4
FIT_RANKS = 4
LATENCY_US = 10.0
ALLTOALL = "ring"  # the pairwise exchange of Open MPI before 4.1, for 3000 bytes or more
BUDGET_S = 120.0
KERNELS = "all"
NEEDED = "needed"
OPEN_MPI = "ompi"
_ONE_CLUSTER: dict[str, float | str | None] = {
    "cluster": NEEDED, "nodes": NEEDED, "cores": 1, "core_gflops": NEEDED, "collectives": OPEN_MPI,
}  # fmt: skip
# Options that belong to some of the kinds of measured times, with their defaults.
OWN: dict[str, dict[str, float | str | None]] = {
    "p2p": {**_ONE_CLUSTER, "hold_out": HOLD_OUT, "async_small_thresh": None, "send_is_detached_thresh": None},
    "patterns": {**_ONE_CLUSTER, "fit_ranks": FIT_RANKS, "latency_us": LATENCY_US, "alltoall": ALLTOALL},
    "machine": {"core_gflops": None, "hold_out": HOLD_OUT, "budget": BUDGET_S, "kernels": KERNELS, "collectives": None},
    "measured": {
        "cluster": "machine",
        "cores": 1,
        "core_gflops": None,
        "hold_out": HOLD_OUT,
        "collectives": OPEN_MPI,
    },
}


def _numbers(text: str) -> list[float]:
    """Return comma-separated numbers."""
    return [float(word) for word in text.split(",")]


@dataclass(frozen=True, kw_only=True)
class TimesOptions(Request):
    """Add the options for the measured times and for one kind of them."""

    machine: str | None = option(
        None, "FILE.toml", "machine to measure: its launcher, compiler and hosts (docs/programs/machines.md)"
    )
    budget: float | None = option(
        None, "SECONDS", f"with --machine: time that measuring may take (default: {BUDGET_S:g})"
    )
    kernels: str | None = option(
        None,
        "NAME,...",
        "with --machine: kernels whose speed is measured on every node, alone and with all cores busy, in a third "
        f"of the budget; all or none (default: {KERNELS})",
    )
    measured: str | None = option(
        None, "FILE.csv", "instead of --machine, rows that the measuring program printed on one"
    )
    p2p: tuple[str, ...] = option(
        (),
        "FILE",
        "measured times of one call: CSV with the columns call, size_bytes, time_s and maybe cluster, or benchmark, "
        "size_bytes, time_us, CSV of platform-calibration, or output of osu_latency, IMB PingPong or NetPIPE",
        several=True,
    )
    patterns: tuple[str, ...] = option(
        (),
        "FILE",
        "instead of --p2p, measured times of calls of several nodes at once, from which the sharing of links is "
        "fitted: CSV with the columns pattern (send, sendrecv_same, sendrecv_diff, alltoall), size_bytes, "
        "active_ranks, time_median_s and maybe cluster",
        several=True,
    )
    fit_ranks: int | None = option(
        None, "N", f"with --patterns: fit calls of up to N ranks, and validate with the others (default: {FIT_RANKS})"
    )
    latency_us: float | None = option(
        None, "US", f"with --patterns: latency of a route, which they do not show (default: {LATENCY_US:g})"
    )


@dataclass(frozen=True, kw_only=True)
class FitOptions(Request):
    """Add the options for properties of the cluster that times do not show, for fitting, and for the output."""

    cluster: str | None = option(
        None, "NAME", "name of the cluster, and of its rows in the CSV; needed with --p2p and --patterns"
    )
    nodes: int | None = option(None, "N", "with --p2p and --patterns: number of the cluster's nodes, at least 2")
    cores: int | None = option(None, "N", "cores of a node (default: 1)")
    core_gflops: Sequence[float] | None = option(
        None,
        "G[,G...]",
        "speed of a core in Gflop/s, of each cluster if there are several; needed with --p2p and --patterns "
        "(default: that of --machine, or that of measured multiply-adds)",
        parse=_numbers,
    )
    out: str = option(
        MISSING,
        "FILE.xml",
        "platform to write; FILE.png with plots is written beside it, with --p2p FILE.p2p.csv with the times, and "
        "of a machine FILE.rows.csv with the times and the page FILE.html",
    )
    hold_out: int | None = option(
        None, "K", f"except with --patterns: validate with every K-th size, and fit the others (default: {HOLD_OUT})"
    )
    async_small_thresh: int | None = option(
        None, "BYTES", "size from which messages travel only once they are received, if it is known (default: found)"
    )
    send_is_detached_thresh: int | None = option(
        None, "BYTES", "size from which MPI_Send waits for the receiver, if it is known (default: found)"
    )
    collectives: str | None = option(
        None,
        "NAME",
        f"whose algorithms SMPI's collectives follow: {', '.join(COLLECTIVES)} (default: with --machine those that its "
        f"MPI library says it takes, else {OPEN_MPI})",
        choices=COLLECTIVES,
    )
    alltoall: str | None = option(
        None,
        "NAME",
        f"with --patterns: SMPI's algorithm of MPI_Alltoall: {', '.join(ALLTOALLS[:-1])}, or selector for that of "
        f"--collectives (default: {ALLTOALL}, the pairwise exchange of large blocks in Open MPI before 4.1)",
        choices=ALLTOALLS,
    )


@dataclass(frozen=True, kw_only=True)
class CalibrateRequest(TimesOptions, FitOptions, WideOption, JsonOption):
    """Measured times, or a machine to measure, and the platform to make from them."""
