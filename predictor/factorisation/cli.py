"""Command line that predicts HPL on a cluster from its calibrated network and matrix products, and chooses the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, dataclass, replace
from typing import TYPE_CHECKING, Any

from apps.options.exit_status import exit_status
from platforms.command.command import Command, Reply
from platforms.command.request import JsonOption, WideOption, option
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError
from platforms.options import read_platforms

if TYPE_CHECKING:
    from predictor.factorisation.cluster import Cluster
    from predictor.factorisation.evaluate import Evaluated
    from predictor.factorisation.evaluate import Problem as Run

APP, ALL = "hpl", "all"
BROADCASTS = ("ring", "ring-modified", "2-ring", "2-ring-modified", "long", "long-modified")  # HPL's numbers 0 to 5
SWAPS = ("exchange", "long", "mix")  # HPL's numbers 0 to 2
WITHIN_GBPS = 1.5
_DESCRIPTION = """Predict run times of HPL on a cluster for one or more process grids, and choose the best one. Needs
the platform calibrated from its messages, and times of matrix products. Panels, broadcasts, row interchanges and
updates are evaluated message by message; nothing is run or simulated."""


def _sizes(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def _grids(text: str) -> list[tuple[int, int]] | str:
    """Return grids such as ``16x60,30x32``, or the word ``all``."""
    if text == ALL:
        return text
    pairs = [word.lower().split("x") for word in text.split(",")]
    return [(int(rows), int(columns)) for rows, columns in pairs]


@dataclass(frozen=True, kw_only=True)
class HplRequest(WideOption, JsonOption):
    """Request of ``gridval predict --app hpl`` with --dgemm or --core-gflops."""

    app: str = option(APP, "NAME", "the program: hpl", choices=(APP,))
    platform: str = option(MISSING, "FILE", "the cluster, calibrated: .xml, .so or .toml")
    dgemm: str | None = option(
        None, "FILE.csv", "times of matrix products of a core: columns node, cpu, s_per_mnk, intercept_s"
    )
    core_gflops: float | None = option(None, "G", "instead of --dgemm, Gflop/s of a core in matrix products")
    size: Sequence[int] = option(MISSING, "N[,N...]", "orders of the matrix", parse=_sizes)
    block: int = option(128, "NB", "columns of a block (default: %(default)s)")
    ranks: int | None = option(None, "N", "number of ranks (default: all cores, or those of --grid)")
    grid: Sequence[tuple[int, int]] | str = option(
        ALL, "PxQ[,...]", "process grids, rows x columns, or all of the ranks (default: %(default)s)", parse=_grids
    )
    broadcast: str = option(
        "2-ring", "NAME", f"of panels: {', '.join(BROADCASTS)} (default: %(default)s)", choices=BROADCASTS
    )
    swap: str = option(
        "exchange", "NAME", f"interchange of rows: {', '.join(SWAPS)} (default: %(default)s)", choices=SWAPS
    )
    depth: int = option(1, "D", "of the look-ahead: 0 or 1 (default: %(default)s)")
    threads: int = option(1, "T", "threads of a rank (default: %(default)s)")
    memory_gb_s: float | None = option(
        None, "GB/s", "bandwidth between cores and memory of a node (default: that of the platform)"
    )
    within_gb_s: float = option(
        WITHIN_GBPS,
        "GB/s",
        "of a large message inside a node, where the platform has no loopback (default: %(default)s)",
    )


@dataclass(frozen=True)
class Predicted:
    """A predicted run."""

    run: Run
    evaluated: Evaluated
    low_s: float  # ends of the 90 % interval
    high_s: float

    @property
    def flops(self) -> float:
        """The rate that HPL prints, flop/s."""
        return (2 / 3 * self.run.n**3 + 3 / 2 * self.run.n**2) / self.evaluated.time_s


@dataclass(frozen=True)
class Answer:
    """Predicted runs of all sizes and grids."""

    cluster: Cluster
    runs: tuple[Predicted, ...]

    def best(self, n: int) -> Predicted:
        """Return the fastest run of a size."""
        return min((one for one in self.runs if one.run.n == n), key=lambda one: one.evaluated.time_s)


def answer(request: HplRequest) -> Reply:
    """Predict all runs."""
    # Imported here because they are slow to import.
    from predictor.factorisation.cluster import cluster_of, nominal_products, read_products
    from predictor.factorisation.evaluate import Problem, evaluate
    from predictor.factorisation.interval import interval

    _check(request)
    products = read_products(request.dgemm) if request.dgemm else nominal_products(1e9 * (request.core_gflops or 0))
    memory_Bps = None if request.memory_gb_s is None else 1e9 * request.memory_gb_s
    cluster = cluster_of(
        read_platforms([request.platform])[0], products, threads=request.threads,
        within_Bps=1e9 * request.within_gb_s, memory_Bps=memory_Bps,
    )  # fmt: skip
    runs = []
    for n in request.size:
        for rows, columns in _grids_of(request, cluster):
            run = Problem(n, request.block, rows, columns, request.broadcast, request.depth, request.swap)
            machine = cluster.machine(rows * columns)
            evaluated = evaluate(run, machine)
            runs.append(Predicted(run, evaluated, *interval(run, machine, evaluated.time_s)))
    made = Answer(cluster, tuple(runs))
    return Reply(made, lambda: as_text(made, wide=request.wide), lambda: as_json(made))


def _check(request: HplRequest) -> None:
    if (request.dgemm is None) == (request.core_gflops is None):
        problem = "none is given" if request.dgemm is None else "both are given"
        raise UserError("--dgemm, --core-gflops", problem, "Give one of them")
    for name in ("core_gflops", "memory_gb_s", "within_gb_s"):
        value = getattr(request, name)
        if value is not None and not 0 < value < 1e9:
            raise UserError(f"--{name.replace('_', '-')} {value:g}", "not a positive number", "Correct it")
    if min(request.size) < 1 or max(request.size) > 10_000_000:
        raise UserError(f"--size {','.join(map(str, request.size))}", "out of range", "Give 1 to 10000000")


def _grids_of(request: HplRequest, cluster: Cluster) -> list[tuple[int, int]]:
    if not isinstance(request.grid, str):
        if request.ranks is not None and any(rows * columns != request.ranks for rows, columns in request.grid):
            raise UserError(f"--ranks {request.ranks}", "--grid has another number of ranks", "Leave one out")
        return list(request.grid)
    ranks = cluster.most_ranks if request.ranks is None else request.ranks
    if ranks < 1:
        raise UserError(f"--ranks {ranks}", "not positive", "Give at least 1")
    return [(rows, ranks // rows) for rows in range(1, ranks + 1) if ranks % rows == 0]


def as_text(made: Answer, *, wide: bool = False) -> str:
    """Return the table that the command prints."""
    # Imported here because they are slow to import.
    from platforms.terminal.prose import folded_lines
    from platforms.terminal.table import table_lines

    rows: list[tuple[str, ...]] = [("n", "block", "grid", "time s", "90 % interval", "Tflop/s", "computing", "")]
    for one in made.runs:
        run, busy_s = one.run, float(one.evaluated.busy_s.mean())
        best = "best" if one is made.best(run.n) and len(made.runs) > 1 else ""
        rows.append(
            (
                *(str(run.n), str(run.nb), f"{run.rows} x {run.columns}", f"{one.evaluated.time_s:.5g}"),
                f"{one.low_s:.5g} to {one.high_s:.5g}",
                *(f"{one.flops / 1e12:.4g}", f"{busy_s / one.evaluated.time_s:.0%}", best),
            )
        )
    cluster = made.cluster
    notes = [
        f"{len(cluster.hosts)} nodes of {cluster.ranks_of_node} ranks of {cluster.threads} threads, filled in order"
    ]
    if cluster.memory_Bps is None:
        notes.append(
            "caution: the memory's bandwidth is not known: panels and rows cost no time of memory (--memory-gb-s)"
        )
    return "\n".join([*table_lines(rows, left={7}, wide=wide), "", *folded_lines(notes)])


def as_json(made: Answer) -> dict[str, Any]:
    """Return everything as JSON values, in SI units."""
    return {
        "runs": [
            {
                "n": one.run.n, "block": one.run.nb, "rows": one.run.rows, "columns": one.run.columns,
                "broadcast": one.run.broadcast, "swap": one.run.swap, "depth": one.run.depth,
                "predicted_s": one.evaluated.time_s, "low_s": one.low_s, "high_s": one.high_s, "flops": one.flops,
                "compute_s": float(one.evaluated.busy_s.mean()), "best": one is made.best(one.run.n),
            }
            for one in made.runs
        ],
        "threads": made.cluster.threads,
        "ranks_of_node": made.cluster.ranks_of_node,
        "memory_Bps": made.cluster.memory_Bps,
    }  # fmt: skip


COMMAND = Command(
    "predict --dgemm",
    HplRequest,
    answer,
    _DESCRIPTION,
    epilog=f"docs/validation/clusters.md. {EXIT_STATUSES}",
    status=exit_status,
)
COMMAND_SPEED = replace(COMMAND, name="predict --core-gflops")
main = COMMAND.main
