"""Choose the number of cores and nodes to request, by speed-up and efficiency from the hierarchical model.

The machine is one of the paper's table, a scenario, or a TOML file (docs/planning/cores.md); the program is one of the
paper's table or a NAS kernel.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict

from apps.programs.kernel import kernels_with
from platforms.command import EXIT_STATUSES, CommandParser, exit_status
from platforms.errors import UserError, known_names
from platforms.terminal.table import table_lines
from predictor.hierarchical.beta import BETAS, named_beta
from predictor.hierarchical.model import COUNTED, SCALING


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parser = CommandParser(
        prog="python -m predictor.hierarchical",
        description=__doc__,
        epilog=EXIT_STATUSES,
    )
    parser.add_argument(
        "--system", metavar="FILE|NAME",
        help="bwGRiD, bwUniCluster, 'bwForHLR 1', bwForCluster, a scenario of one cluster, or a TOML file: of a "
        "machine, a scenario, or a system",
    )  # fmt: skip
    parser.add_argument(
        "--app", metavar="NAME", type=str.lower,
        help="a program of the paper: scalar-product, matrix-product, hpl, fft, fftw; or a NAS kernel: "
        f"{', '.join(kernels_with('exchanges.py'))}",
    )  # fmt: skip
    parser.add_argument("--n", type=int, metavar="N", help="size, of a program of the paper's table")
    parser.add_argument("--class", dest="preset", metavar="C", help="class, of a NAS kernel")
    parser.add_argument("--cores-per-node", type=int, metavar="Q", help="cores per node (default: the best)")
    parser.add_argument("--nodes", type=int, metavar="P", help="number of nodes (default: the best)")
    parser.add_argument("--most-nodes", type=int, metavar="P", help="most nodes available (default: all)")
    parser.add_argument(
        "--variant", default=COUNTED, metavar="NAME",
        help="counted: operations, bytes and messages counted from this project's kernels, latency included "
        "(default); or the rows of the paper's table, with its equations as they follow from its definitions: derived, "
        "or as printed: printed",
    )  # fmt: skip
    parser.add_argument(
        "--scaling", default="hockney", metavar="NAME",
        help=f"{' or '.join(SCALING)}: s(z) = z / (1 + z), computing and memory traffic alternate, or min(1, z), they "
        "overlap (default: hockney)",
    )  # fmt: skip
    parser.add_argument(
        "--beta", metavar="FORM",
        help=f"how the network is shared, beta(q, p), for the paper's table and NAS kernels: {', '.join(BETAS)} "
        "(default: the program's)",
    )  # fmt: skip
    parser.add_argument("--beta0", type=float, metavar="B", help="with --beta: a factor before it (default: 1)")
    parser.add_argument(
        "--memory", type=float, metavar="GB/S",
        help="memory bandwidth of a node, for a scenario or system file; inf: memory never limits",
    )  # fmt: skip
    parser.add_argument(
        "--efficiency", type=float, metavar="SHARE",
        help="share of a core's speed in a scenario or system file that it sustains in DGEMM (default: all)",
    )  # fmt: skip
    parser.add_argument(
        "--within", type=float, default=0.05, metavar="SHARE",
        help="share of the best speed-up that the smallest allocation may lose (default: 0.05)",
    )  # fmt: skip
    parser.add_argument(
        "--whole-nodes", action="store_true", help="nodes are not shared: an allocation costs all their cores"
    )
    parser.add_argument(
        "--margin", type=float, default=0.2, metavar="SHARE", help="added share of the expected time (default: 0.2)"
    )
    parser.add_argument("--batch", metavar="NAME", help="slurm or moab (default: what the system has)")
    parser.add_argument("--figure", metavar="FILE", help="draw the speed-up over q and p")
    parser.add_argument("--figures", metavar="DIR", help="only draw the paper's surfaces, printed and derived")
    parser.add_argument("--derivation", action="store_true", help="only compare printed and derived equations")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object")
    return parser


def _run(args: argparse.Namespace) -> int:
    if args.derivation:
        return _derivation(args.json)
    if args.figures is not None:
        # Imported here for a quick start: it is slow to import.
        from predictor.hierarchical.figures import write_paper_figures

        for path in write_paper_figures(args.figures):
            print(path)
        return 0
    return _answer(args)


def _derivation(as_json: bool) -> int:
    # Imported here for a quick start: it is slow to import.
    from predictor.hierarchical.derivation import findings

    found = findings()
    if as_json:
        print(json.dumps({"findings": [{**asdict(one), "agrees": one.agrees} for one in found]}))
        return 0
    rows = [(one.where, one.what, one.printed, one.derived, one.verdict) for one in found]
    print("\n".join(table_lines(rows, left=range(5))))
    return 0


def _answer(args: argparse.Namespace) -> int:
    # Imported here for a quick start: they are slow to import.
    from predictor.hierarchical.answer import Question, answer, surface_of
    from predictor.hierarchical.multicore_cluster import BATCH_SYSTEMS, read_cluster
    from predictor.hierarchical.output import as_json, text

    for option in ("system", "app"):
        if getattr(args, option) is None:
            raise UserError(f"--{option}", "not given", "Give it; --help lists what is known")
    if args.scaling not in SCALING:
        raise UserError(f"--scaling {args.scaling}", "no such choice", known_names(args.scaling, SCALING))
    if args.batch not in (None, *BATCH_SYSTEMS):
        raise UserError(f"--batch {args.batch}", "no such batch system", known_names(args.batch, BATCH_SYSTEMS))
    if args.beta is None and args.beta0 is not None:
        raise UserError(f"--beta0 {args.beta0:g}", "goes with --beta", "Give the form too")
    question = Question(
        system=read_cluster(args.system, memory_gbyte_s=args.memory, efficiency=args.efficiency),
        app=args.app,
        n=args.n,
        preset=args.preset,
        variant=args.variant,
        overlap=args.scaling == "overlap",
        beta=None if args.beta is None else named_beta(args.beta, 1 if args.beta0 is None else args.beta0),
        cores_per_node=args.cores_per_node,
        nodes=args.nodes,
        most_nodes=args.most_nodes,
        within=args.within,
        margin=args.margin,
        whole_nodes=args.whole_nodes,
        batch=args.batch,
    )
    if args.figure is not None:
        # Imported here for a quick start: it is slow to import.
        from platforms.files.writing import check_picture

        check_picture("--figure", args.figure)
    made = answer(question)
    print(json.dumps(as_json(made)) if args.json else text(made), flush=True)
    if args.figure is not None:
        # Imported here for a quick start: it is slow to import.
        from predictor.hierarchical.figures import draw_answer

        draw_answer(made, surface_of(question), args.figure)
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    return exit_status(lambda: _run(build_parser().parse_args(argv)))
