"""The options of a search, shared by ``predictor.optimize`` and ``validation.optimize``."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from apps.catalog import sized_names
from apps.options import add_runner_arguments, add_settings_arguments, parse_parameters
from platforms.errors import UserError
from platforms.grid import default_power
from platforms.options import add_platform_arguments, platform_from_arguments
from platforms.platform import Cluster, Platform
from predictor.npt.branch_and_bound import branch_and_bound
from predictor.npt.configuration import Limits
from predictor.npt.noise import GLITCH_FACTOR, GLITCH_SHARE
from predictor.npt.objectives import TIME, Objective, cost, edp, energy
from predictor.npt.predictor import NptPredictor
from predictor.npt.search import Choice, cheapest_within, check_slack
from predictor.npt.sizes import paper_sizes
from predictor.npt.space import Space
from predictor.optimize.drivers import Driver, Noise, NptDriver, NptSettings
from predictor.optimize.limits import default_limits
from predictor.optimize.study import Study
from predictor.registry import help_text, predictor

_Number = TypeVar("_Number", int, float)

OBJECTIVES = ("time", "energy", "edp", "cost", "cheapest")
OF_POWER = {"energy": energy, "edp": edp}  # objectives that need the watts of the nodes
SEARCHES = ("exhaustive", "branch-and-bound")
FORMS = ("npt", "pt", "pt-printed", "nt")  # models that can drive a search, beside the predictors
BOUNDED_FORMS = ("npt", "pt", "pt-printed")  # those that branch and bound works with


def add_search_arguments(parser: argparse.ArgumentParser) -> None:
    """All options of a search but what it prints."""
    add_platform_arguments(parser)
    parser.add_argument("--app", metavar="NAME", help=f"one of {', '.join(sized_names())}")
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
        "--predictor", default="npt", metavar="NAME",
        help=f"what drives the search: {', '.join(FORMS)}; or a predictor {help_text(but=FORMS)} (default: npt)",
    )  # fmt: skip
    parser.add_argument("--fit", metavar="nnls|ls", help="how models are fitted (default: nnls)")
    parser.add_argument(
        "--weights", metavar="absolute|relative",
        help="what the fit makes small: relative errors (default), or errors in seconds, as in the paper",
    )  # fmt: skip
    parser.add_argument(
        "--drop", action="append", default=[], metavar="TERM", help='leave a term out of the models, such as "log P"'
    )
    parser.add_argument(
        "--glitches", type=float, metavar="K",
        help="leave measurements out that perform at most K times as well as the next smaller size (the paper: 0.9)",
    )  # fmt: skip
    parser.add_argument(
        "--construction", metavar="N1,N2,...", help="sizes that are measured (default: the paper's for its benchmarks)"
    )
    parser.add_argument(
        "--noise", type=float, metavar="SIGMA",
        help=f"make measured times vary by a factor exp(SIGMA z), z standard normal, and {100 * GLITCH_SHARE:g} %% of "
        f"them {GLITCH_FACTOR:g} times longer, as real machines do (default: 0, none)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, metavar="S", help="of the noise (default: 0)")
    parser.add_argument(
        "--objective", default="time", metavar="NAME",
        help=f"what is to be small: {', '.join(OBJECTIVES)}; edp: energy times time; cheapest: the lowest cost within "
        "--slack of the best time",
    )  # fmt: skip
    parser.add_argument(
        "--slack",
        type=float,
        metavar="X",
        help="for cheapest: times up to 1 + X of the best (default: 0.1)",
    )
    parser.add_argument("--prices", metavar="C1,C2,...", help="of a node-hour of each cluster, for cost and cheapest")
    parser.add_argument(
        "--search", default="exhaustive", metavar="HOW", help=f"{' or '.join(SEARCHES)} (default: exhaustive)"
    )
    add_settings_arguments(parser, programs=False)
    add_runner_arguments(parser)


def study_from_arguments(args: argparse.Namespace) -> Study:
    """Raises UserError for what does not fit."""
    if args.app is None:
        raise UserError("--app", "not given", f"Name one of {', '.join(sized_names())}")
    platform = platform_from_arguments(args)
    return Study(args.app, platform, limits_from_arguments(args, platform), parse_parameters(args.param))


def limits_from_arguments(args: argparse.Namespace, platform: Platform) -> Limits:
    """--nodes and --processes, or their defaults."""
    usual = default_limits(args.app, platform, args.scenario)
    return Limits(
        usual.pes if args.nodes is None else numbers(args.nodes, "--nodes", int),
        usual.processes if args.processes is None else numbers(args.processes, "--processes", int),
    )


def numbers(text: str, option: str, kind: type[_Number]) -> tuple[_Number, ...]:
    """A comma-separated list of numbers.  Raises UserError."""
    try:
        return tuple(kind(part) for part in text.split(","))
    except ValueError:
        raise UserError(f"{option} {text}", "not numbers", "Write them with commas, such as 4,4,4") from None


def construction_from_arguments(args: argparse.Namespace) -> tuple[int, ...]:
    """The sizes that are measured.  Raises UserError for some that are given more than once, and for no sizes."""
    if args.construction is not None:
        sizes = numbers(args.construction, "--construction", int)
        check_distinct(sizes, "--construction")
        return sizes
    if args.app not in paper_sizes():
        known = ", ".join(paper_sizes())
        raise UserError("--construction", f"{args.app} is not of the paper's benchmarks ({known})", "Name sizes")
    return paper_sizes()[args.app].construction


def check_distinct(sizes: Sequence[int], where: str) -> None:
    """Raises UserError for a size that is given more than once: its second run would tell nothing and be charged."""
    for size in sizes:
        if sizes.count(size) > 1:
            raise UserError(where, f"{size} is there more than once", "Name every size once")


def npt_settings_from_arguments(args: argparse.Namespace) -> NptSettings:
    """Raises UserError for names and values that are not known, and a seed of no noise."""
    if args.seed is not None and not args.noise:
        raise UserError(
            f"--seed {args.seed}", "is of the noise, and there is none", "Give --noise too, or leave it out"
        )
    return NptSettings(
        form=args.predictor,
        method="nnls" if args.fit is None else args.fit,
        weights="relative" if args.weights is None else args.weights,
        drop=tuple(dict.fromkeys(args.drop)),
        glitch_k=args.glitches,
        noise=Noise(0.0 if args.noise is None else args.noise, 0 if args.seed is None else args.seed),
    )


def refuse_model_arguments(args: argparse.Namespace) -> None:
    """Raises UserError for options about measured models, where a predictor drives the search."""
    for name in ("construction", "fit", "weights", "drop", "glitches", "noise", "seed"):
        if getattr(args, name) not in (None, []):
            problem = f"is about measured models ({', '.join(FORMS)}), not {args.predictor}"
            raise UserError(f"--{name}", problem, "Leave it out")


@dataclass(frozen=True)
class Search:
    """How the best configuration is looked for."""

    how: str  # of SEARCHES
    objective: Objective
    slack: float | None  # not None: among those within 1 + slack of the best time

    def choose(self, driver: Driver, space: Space, size: int) -> Choice:
        """The best, by what the driver says.  Raises OutOfRange where there is none."""
        find = self._find(driver, space, size)
        if self.slack is None:
            return find(self.objective)
        return cheapest_within(find, self.objective, self.slack)

    def _find(self, driver: Driver, space: Space, size: int) -> Callable[..., Choice]:
        if self.how == "branch-and-bound":
            if not isinstance(driver, NptDriver):
                raise ValueError("branch and bound needs the models of an NptDriver")
            return partial(_bounded, driver, space, size)
        return partial(driver.estimate(space, size).choose, space)


def _bounded(driver: NptDriver, space: Space, size: int, objective: Objective = TIME, **limit: float) -> Choice:
    """What branch and bound finds, with the reasons to distrust the models."""
    choice = branch_and_bound(space, driver.models.table_s(space, size), objective, **limit)
    return replace(choice, flags=(*choice.flags, *driver.models.flags(size)))


def search_from_arguments(args: argparse.Namespace, platform: Platform) -> Search:
    """Raises UserError for what does not fit."""
    if args.objective not in OBJECTIVES:
        raise UserError(f"--objective {args.objective}", "no such objective", f"Known: {', '.join(OBJECTIVES)}")
    if args.search not in SEARCHES:
        raise UserError(f"--search {args.search}", "no such search", f"Known: {', '.join(SEARCHES)}")
    if args.search == "branch-and-bound" and args.predictor not in BOUNDED_FORMS:
        problem = f"it needs the times of sub-clusters, which only pt and npt models have, not {args.predictor}"
        raise UserError("--search branch-and-bound", problem, "Use --search exhaustive")
    if (args.prices is None) != (args.objective not in ("cost", "cheapest")):
        raise UserError("--prices", "goes with --objective cost or cheapest, and they with it", "Give both or none")
    return Search(args.search, _objective(args, platform), _slack(args))


def _slack(args: argparse.Namespace) -> float | None:
    if args.objective != "cheapest":
        if args.slack is not None:
            raise UserError(f"--slack {args.slack:g}", "goes with --objective cheapest", "Leave it out")
        return None
    slack = 0.1 if args.slack is None else args.slack
    check_slack(slack)
    return slack


def _objective(args: argparse.Namespace, platform: Platform) -> Objective:
    if args.objective == "time":
        return TIME
    if args.objective in OF_POWER:
        return OF_POWER[args.objective](_full_power_w(platform, args.objective))
    objective = cost(numbers(args.prices, "--prices", float))
    objective.check(len(platform.clusters))
    return objective


def objective_cautions(args: argparse.Namespace, platform: Platform) -> list[str]:
    """Reasons to distrust what is made small."""
    if args.objective not in OF_POWER:
        return []
    found = []
    if args.predictor in FORMS or isinstance(predictor(args.predictor), NptPredictor):
        found.append(
            f"models of {args.predictor} do not tell computing from waiting: energy counts the nodes in use at full "
            "power all the time; those of dpgraph and hcf tell"
        )
    if all(_usual_power(cluster) for cluster in platform.clusters):
        found.append(
            "the watts of the nodes are the default, in proportion to their speeds: where computing is most of the "
            "time, energy hardly tells configurations apart; give the clusters of a scenario file their power"
        )
    return found


def _usual_power(cluster: Cluster) -> bool:
    """Whether its watts are those that a grid's nodes have where nothing is said."""
    host = cluster.hosts[0]
    usual_w = default_power(cluster.speed_flops * host.cores).full_w
    return host.power is not None and math.isclose(host.power.full_w, usual_w, rel_tol=1e-9)


def _full_power_w(platform: Platform, objective: str) -> Sequence[float]:
    """Of a node of each cluster, all its cores busy."""
    full_w = []
    for cluster in platform.clusters:
        power = cluster.hosts[0].power
        if power is None:
            where = f"--objective {objective}, cluster {cluster.name}"
            raise UserError(where, "the platform gives no watts", "Give its hosts a wattage_per_state")
        full_w.append(power.full_w)
    return full_w
