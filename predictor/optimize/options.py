"""Options of a search for configurations, shared by ``predictor.optimize`` and ``validation.optimize``."""

from __future__ import annotations

import argparse

from apps.options.dry_run import add_dry_run_argument
from apps.options.runner import add_runner_arguments
from apps.options.settings import add_settings_arguments
from apps.programs.kernel import sized_names
from platforms.command.parser import any_case
from platforms.options import add_platform_arguments
from predictor.optimize.names import FORMS, GLITCH_FACTOR, GLITCH_SHARE, OBJECTIVES, OUTLIERS, SEARCHES
from predictor.registry import PREDICTORS, help_text

FIRST_OPTIONS = (  # in the short help
    *("--simulate", "--scenario", "--platform", "--app", "--size", "--predictor", "--nodes", "--processes"),
    *("--objective", "--dry-run", "--write-hostfile"),
)


def add_search_arguments(parser: argparse.ArgumentParser) -> None:
    """Add all options of a search except those about output."""
    add_platform_arguments(parser)
    parser.add_argument("--app", metavar="NAME", type=str.lower, help=f"one of {', '.join(sized_names())}")
    parser.add_argument("--size", type=int, metavar="N", help="the size of the problem")
    parser.add_argument(
        "--param", action="append", default=[], metavar="KEY=VALUE", help="another parameter of the problem"
    )
    parser.add_argument(
        "--nodes", metavar="P1,P2,...",
        help="most nodes of each cluster (default: the paper's for its benchmarks on its cluster, else all)",
    )  # fmt: skip
    parser.add_argument(
        "--processes", metavar="M1,M2,...",
        help="most processes on a node of each cluster (default: 1 on the slowest clusters, 2 on the others)",
    )  # fmt: skip
    parser.add_argument(
        "--predictor", default="npt", metavar="NAME", type=any_case(*FORMS, *PREDICTORS),
        help=f"models that drive the search: {', '.join(FORMS)}; or a predictor, {help_text(but=FORMS)} (default: npt)",
    )  # fmt: skip
    parser.add_argument("--fit", metavar="nnls|ls", help="how models are fitted (default: nnls)")
    parser.add_argument(
        "--weights", metavar="absolute|relative|local",
        help="errors that the fit minimises: relative ones (default), local ones, which count more near the size and "
        "the numbers of processes of the choice, or absolute ones in seconds, as in the paper",
    )  # fmt: skip
    parser.add_argument(
        "--drop", action="append", default=[], metavar="TERM", help='leave a term out of the models, such as "log P"'
    )
    parser.add_argument(
        "--glitches", type=float, metavar="K",
        help="leave out measurements that perform at most K times as well as the next smaller size (the paper: 0.9)",
    )  # fmt: skip
    parser.add_argument(
        "--measurements", metavar="FILE.csv",
        help="choose by runs that were measured on a real cluster, instead of simulated ones: the columns size, "
        "configuration, time_s; checks first whether they are predictable",
    )  # fmt: skip
    parser.add_argument(
        "--unpredictable", metavar="refuse|caution", type=str.lower,
        help="what to do if --measurements fail a check of predictability: refuse to choose (default), or say so",
    )  # fmt: skip
    parser.add_argument(
        "--outliers", metavar="|".join(OUTLIERS), type=str.lower,
        help="runs far slower than the model of the others: keep them (default), reject them, or do what predicts "
        "left-out sizes better",
    )  # fmt: skip
    parser.add_argument(
        "--probe", type=int, metavar="K",
        help="run a few iterations on the K configurations of distinct numbers of processes that are estimated to be "
        "best, and choose among them (default: 3 where the program has iterations, otherwise 0: none; given, it runs "
        "a program without iterations whole)",
    )  # fmt: skip
    parser.add_argument(
        "--bootstrap", type=int, metavar="B",
        help="resample the measurements B times, and give the share in which the choice is the best (default: 0)",
    )  # fmt: skip
    parser.add_argument(
        "--construction", metavar="N1,N2,...", help="sizes that are measured (default: the paper's for its benchmarks)"
    )
    parser.add_argument(
        "--noise", type=float, metavar="SIGMA",
        help=f"multiply measured times by exp(SIGMA z), z standard normal, and make {100 * GLITCH_SHARE:g} %% of them "
        f"{GLITCH_FACTOR:g} times longer, like those of real machines (default: 0, none)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, metavar="S", help="seed of the noise (default: 0)")
    parser.add_argument(
        "--objective", default="time", metavar="NAME", type=str.lower,
        help=f"value to minimise: {', '.join(OBJECTIVES)}; edp: energy times time; cheapest: the cost, within --slack "
        "of the best time",
    )  # fmt: skip
    parser.add_argument(
        "--slack",
        type=float,
        metavar="X",
        help="for cheapest: times up to 1 + X of the best (default: 0.1)",
    )
    parser.add_argument(
        "--prices", metavar="C1,C2,...", help="price of a node-hour of each cluster, for cost and cheapest"
    )
    parser.add_argument(
        "--search",
        default="exhaustive",
        metavar="HOW",
        type=str.lower,
        help=f"{' or '.join(SEARCHES)} (default: exhaustive)",
    )
    add_settings_arguments(parser, programs=False)
    add_dry_run_argument(parser)
    add_runner_arguments(parser)
