"""The command ``python -m apps.calibration``, which calibrates a platform from measured times."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from apps.options.exit_status import exit_status
from platforms.command.parser import CommandParser
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError, printable
from platforms.files.reading import input_bytes
from platforms.files.writing import check_writable, write_picture, write_text
from platforms.terminal.width import add_wide_argument

if TYPE_CHECKING:
    from apps.calibration.points import Measured
    from apps.calibration.readers.sample import Sample
    from apps.calibration.report import Calibration

_DESCRIPTION = """Calibrate a SimGrid platform of a machine of one or several clusters, which is measured first, or of a
cluster from measured times of MPI calls between two of its nodes (MPI_Send, MPI_Isend, MPI_Recv of a message that has
arrived, and ping-pongs), or from calls of several nodes at once, which show how links are shared. The platform carries
all factors of SMPI in its <config>. It is judged by repeating the measurement in SMPI at sizes, between nodes, or on
numbers of ranks, that were not fitted."""
COLLECTIVES = ("ompi", "mpich", "mvapich2", "impi", "default")  # values of smpi/coll-selector
MOST_NODES = 1_000_000
MOST_CORES = 1_000_000
MOST_BUDGET_S = 86_400
ALLTOALLS = ("ring", "pair", "basic_linear", "bruck", "selector")  # values of smpi/alltoall, or that of the selector
_ENDING = ".xml"
_HOLD_OUT = 4
_FIT_RANKS = 4
_LATENCY_US = 10.0
_ALLTOALL = "ring"  # the pairwise exchange of Open MPI before 4.1, for 3000 bytes or more
_BUDGET_S = 120.0
_KERNELS = "all"
_NEEDED = "needed"
_ONE_CLUSTER: dict[str, float | str | None] = {"cluster": _NEEDED, "nodes": _NEEDED, "cores": 1, "core_gflops": _NEEDED}
# Options that belong to some of the kinds of measured times, with their defaults.
_OWN: dict[str, dict[str, float | str | None]] = {
    "p2p": {**_ONE_CLUSTER, "hold_out": _HOLD_OUT, "async_small_thresh": None, "send_is_detached_thresh": None},
    "patterns": {**_ONE_CLUSTER, "fit_ranks": _FIT_RANKS, "latency_us": _LATENCY_US, "alltoall": _ALLTOALL},
    "machine": {"core_gflops": None, "hold_out": _HOLD_OUT, "budget": _BUDGET_S, "kernels": _KERNELS},
    "measured": {"cluster": "machine", "cores": 1, "core_gflops": None, "hold_out": _HOLD_OUT},
}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of this command's options."""
    parser = CommandParser(
        prog="python -m apps.calibration",
        description=_DESCRIPTION,
        epilog=f"docs/platforms/calibration.md. {EXIT_STATUSES}",
    )
    _add_times(parser)
    _add_cluster_and_fit(parser)
    parser.add_argument("--json", action="store_true", help="print everything as JSON, in SI units")
    add_wide_argument(parser)
    return parser


def _add_times(parser: argparse.ArgumentParser) -> None:
    """Add what names the measured times, and what belongs to one kind of them."""
    parser.add_argument(
        "--machine", metavar="FILE.toml",
        help="machine to measure: its launcher, compiler and hosts (docs/programs/machines.md)",
    )  # fmt: skip
    parser.add_argument(
        "--budget", metavar="SECONDS", type=float,
        help=f"with --machine: time that measuring may take (default: {_BUDGET_S:g})",
    )  # fmt: skip
    parser.add_argument(
        "--kernels", metavar="NAME,...",
        help="with --machine: kernels whose speed is measured on every node, alone and with all cores busy, in a third "
        f"of the budget; all or none (default: {_KERNELS})",
    )  # fmt: skip
    parser.add_argument(
        "--measured", metavar="FILE.csv",
        help="instead of --machine, rows that the measuring program printed on one",
    )  # fmt: skip
    parser.add_argument(
        "--p2p", metavar="FILE", nargs="+",
        help="measured times of one call: CSV with the columns call, size_bytes, time_s and maybe cluster, CSV of "
        "platform-calibration, or output of osu_latency, IMB PingPong or NetPIPE",
    )  # fmt: skip
    parser.add_argument(
        "--patterns", metavar="FILE", nargs="+",
        help="instead of --p2p, measured times of calls of several nodes at once, from which the sharing of links is "
        "fitted: CSV with the columns pattern (send, sendrecv_same, sendrecv_diff, alltoall), size_bytes, "
        "active_ranks, time_median_s and maybe cluster",
    )  # fmt: skip
    parser.add_argument(
        "--fit-ranks", metavar="N", type=int,
        help=f"with --patterns: fit calls of up to N ranks, and judge by the others (default: {_FIT_RANKS})",
    )  # fmt: skip
    parser.add_argument(
        "--latency-us", metavar="US", type=float,
        help=f"with --patterns: latency of a route, which they do not tell (default: {_LATENCY_US:g})",
    )  # fmt: skip


def _add_cluster_and_fit(parser: argparse.ArgumentParser) -> None:
    """Add what the times do not tell of the cluster, and how the platform is fitted and written."""
    parser.add_argument(
        "--cluster", metavar="NAME",
        help="name of the cluster, and of its rows in the CSV; needed with --p2p and --patterns",
    )  # fmt: skip
    parser.add_argument(
        "--nodes", metavar="N", type=int, help="with --p2p and --patterns: number of the cluster's nodes, at least 2"
    )
    parser.add_argument("--cores", metavar="N", type=int, help="cores of a node (default: 1)")
    parser.add_argument(
        "--core-gflops", metavar="G[,G...]", type=_numbers,
        help="speed of a core in Gflop/s, of each cluster if there are several; needed with --p2p and --patterns "
        "(default: that of --machine, or that of measured multiply-adds)",
    )  # fmt: skip
    parser.add_argument(
        "--out", metavar="FILE.xml", required=True,
        help="platform to write; FILE.png with plots is written beside it, with --p2p FILE.p2p.csv with the times, and "
        "of a machine FILE.rows.csv with the times and the page FILE.html",
    )  # fmt: skip
    parser.add_argument(
        "--hold-out", metavar="K", type=int,
        help=f"but for --patterns: judge by every K-th size, and fit the others (default: {_HOLD_OUT})",
    )  # fmt: skip
    parser.add_argument(
        "--async-small-thresh", metavar="BYTES", type=int,
        help="size from which messages travel only when they are received, if it is known (default: found)",
    )  # fmt: skip
    parser.add_argument(
        "--send-is-detached-thresh", metavar="BYTES", type=int,
        help="size from which MPI_Send waits for the receiver, if it is known (default: found)",
    )  # fmt: skip
    parser.add_argument(
        "--collectives", choices=COLLECTIVES, default="ompi", metavar="NAME",
        help=f"whose algorithms SMPI's collectives follow: {', '.join(COLLECTIVES)} (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--alltoall", choices=ALLTOALLS, metavar="NAME",
        help=f"with --patterns: SMPI's algorithm of MPI_Alltoall: {', '.join(ALLTOALLS[:-1])}, or selector for that of "
        f"--collectives (default: {_ALLTOALL}, the pairwise exchange of large blocks in Open MPI before 4.1)",
    )  # fmt: skip


def _numbers(text: str) -> list[float]:
    """Return numbers that are separated by commas."""
    return [float(word) for word in text.split(",")]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))


def _run(args: argparse.Namespace) -> int:
    _check(args)
    if args.patterns is not None:
        # Imported here for a quick start: they are slow to import.
        from apps.calibration.patterns import report as patterns
        from apps.calibration.patterns.calibrate import calibrated as from_patterns

        shared = from_patterns(args, _files(args))
        told, text = patterns.as_json(shared), patterns.as_text(shared, wide=args.wide)
    elif args.p2p is None:
        # Imported here for a quick start: they are slow to import.
        from apps.calibration.machine import report as machines
        from apps.calibration.machine.command import calibrated as of_machine

        machine, files = of_machine(args, _files(args)), _files(args)
        told, text = machines.as_json(machine, files), machines.as_text(machine, files, wide=args.wide)
    else:
        # Imported here for a quick start: they are slow to import.
        from apps.calibration.report import as_json, as_text

        found = calibrated(args)
        told, text = as_json(found), as_text(found, wide=args.wide)
    print(json.dumps(told, indent=2) if args.json else text)
    return 0


def calibrated(args: argparse.Namespace) -> Calibration:
    """Calibrate from calls between two nodes, as the options say, and write the files.

    Raises:
        UserError: A file cannot be read or written, or its content is wrong.
        SimulationError: The replay does not succeed.
    """
    # Imported here for a quick start: they are slow to import.
    from apps.calibration.model import model_of
    from apps.calibration.picture import calibration_figure
    from apps.calibration.platform_file import Cluster, platform_file, smpi_options
    from apps.calibration.points import fitted_and_held_out, held_out_sizes
    from apps.calibration.readers.reading import measured_of, read_samples
    from apps.calibration.replay import replayed
    from apps.calibration.report import Calibration
    from platforms.read.read import kept_file, read_platform

    samples = read_samples(args.p2p, args.cluster)
    measured = measured_of(samples, ", ".join(args.p2p))
    fit, held_out = fitted_and_held_out(measured, held_out_sizes(measured, args.hold_out))
    model = model_of(fit, async_bytes=args.async_small_thresh, detached_bytes=args.send_is_detached_thresh)
    cluster = Cluster(args.cluster, args.nodes, args.cores, args.core_gflops[0] * 1e9)
    options = smpi_options(model, args.collectives)
    content = platform_file(cluster, model, options, _provenance(args, fit, held_out))
    errors = replayed(read_platform(kept_file(content), args.cluster), measured, held_out)
    files = _files(args)
    write_text("--out", files["platform"], content.decode())
    write_text("--out", files["data"], _data(args.cluster, samples))
    write_picture("--out", files["picture"], calibration_figure(args.cluster, model, fit, errors))
    return Calibration(cluster, model, options, fit, errors, files)


def _check(args: argparse.Namespace) -> None:
    """Check the options before anything is read.

    Raises:
        UserError: An option has a wrong value, or a file cannot be written.
    """
    # Imported here for a quick start: it is slow to import.
    from platforms.grids.grid import SPEED_RANGE_FLOPS

    _check_kind(args)
    for option, value, least, most in (
        ("--nodes", args.nodes, 2, MOST_NODES),
        ("--cores", args.cores, 1, MOST_CORES),
        ("--hold-out", args.hold_out, 2, 1000),
        ("--fit-ranks", args.fit_ranks, 2, MOST_NODES),
        ("--latency-us", args.latency_us, 0, 1e6),
        ("--budget", args.budget, 1, MOST_BUDGET_S),
        ("--async-small-thresh", args.async_small_thresh, 0, 2**31 - 1),
        ("--send-is-detached-thresh", args.send_is_detached_thresh, 0, 2**31 - 1),
    ):
        if value is not None and not least <= value <= most:
            raise UserError(f"{option} {value}", "out of range", f"Give a number from {least:.7g} to {most:.10g}")
    low, high = (flops / 1e9 for flops in SPEED_RANGE_FLOPS)
    for gflops in args.core_gflops or []:
        if not low <= gflops <= high:
            raise UserError(f"--core-gflops {gflops:g}", "out of range", f"Give a number from {low:g} to {high:g}")
    small, detached = args.async_small_thresh, args.send_is_detached_thresh
    if small is not None and detached is not None and small > detached:
        remedy = "Give at most that: a message that travels at once does not make its sender wait"
        raise UserError(f"--async-small-thresh {small}", f"above --send-is-detached-thresh {detached}", remedy)
    if args.cluster is not None and not _is_name(args.cluster):
        raise UserError(
            f"--cluster {args.cluster}", "not a name that SimGrid can use", "Use letters, digits, '_' and '-'"
        )
    if Path(args.out).suffix != _ENDING:
        raise UserError(f"--out {args.out}", "its name does not end with .xml", "Write for example --out dahu.xml")
    for file in _files(args).values():
        check_writable("--out", file)
        read = args.p2p or args.patterns or [one for one in (args.measured, args.machine) if one is not None]
        if os.path.exists(file) and any(os.path.exists(one) and os.path.samefile(file, one) for one in read):
            raise UserError(f"--out {args.out}", f"it would replace {file}, which is read", "Choose another name")


def _is_name(text: str) -> bool:
    return text.isascii() and text.replace("-", "a").replace("_", "a").isidentifier()


def _check_kind(args: argparse.Namespace) -> None:
    """Check that the options belong to the kind of measured times, and set the defaults of those that do."""
    kinds = [kind for kind in _OWN if getattr(args, kind) is not None]
    if kinds == ["p2p", "patterns"]:
        problem = (
            "their times are of different runs and sizes, and each gives a link another rate: --p2p by factors of the "
            "size, with links that nothing slows down, --patterns without factors, with links that flows share"
        )
        raise UserError("--p2p, --patterns", problem, "Give one of them; --machine and --measured fit both together")
    if len(kinds) != 1:
        problem = "none is given" if not kinds else f"{' and '.join(f'--{kind}' for kind in kinds)} are given"
        raise UserError(", ".join(f"--{kind}" for kind in _OWN), problem, "Give one of them")
    own = _OWN[kinds[0]]
    for name in dict.fromkeys(name for options in _OWN.values() for name in options):
        option, value = f"--{name.replace('_', '-')}", getattr(args, name)
        if value is not None and name not in own:
            raise UserError(f"{option} {value}", f"has no effect with --{kinds[0]}", "Leave it out")
        if value is None and own.get(name) == _NEEDED:
            raise UserError(f"--{kinds[0]}", f"{option} is missing", "Give it: the measured times do not tell it")
        if value is None:
            setattr(args, name, own.get(name))
    if "nodes" in own and len(args.core_gflops) != 1:
        raise UserError("--core-gflops", "several speeds for one cluster", "Give one")


def _files(args: argparse.Namespace) -> dict[str, str]:
    stem = args.out.removesuffix(_ENDING)
    if args.p2p is not None:
        return {"platform": args.out, "data": f"{stem}.p2p.csv", "picture": f"{stem}.png"}
    if args.patterns is not None:
        return {"platform": args.out, "picture": f"{stem}.png"}
    return {"platform": args.out, "data": f"{stem}.rows.csv", "picture": f"{stem}.png", "page": f"{stem}.html"}


def _provenance(args: argparse.Namespace, fit: Measured, held_out: Measured) -> list[str]:
    """Return lines that say where the platform comes from."""
    names = [
        f"{printable(os.path.basename(path))}, sha256 {hashlib.sha256(input_bytes(path)).hexdigest()[:16]}"
        for path in args.p2p
    ]
    sizes = ", ".join(f"{call} {len(points)} + {len(held_out[call])}" for call, points in fit.items())
    return [
        "Calibrated by python -m apps.calibration (docs/platforms/calibration.md).",
        *(f"Measured times: {name}" for name in names),
        f"Cluster {args.cluster}; sizes fitted + held out (one in {args.hold_out}): {sizes}",
    ]


def _data(cluster: str, samples: Sequence[Sample]) -> str:
    """Return the measured times as CSV, in the form that the command reads."""
    rows = [f"{cluster},{one.call},{one.size_bytes},{one.time_s:.9g}\n" for one in samples]
    return "".join(["cluster,call,size_bytes,time_s\n", *rows])
