"""Options of a search for configurations, shared by ``predictor.nodes`` and ``validation.nodes``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from apps.options.dry_run import DryRunOption
from apps.options.machines import MachineOptions
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions
from platforms.command.parser import any_case
from platforms.command.request import JsonOption, WideOption, option
from platforms.prices.options import CostOptions
from predictor.registry import PREDICTORS, SELF_CHECKS, help_text

OBJECTIVES = ("time", "energy", "edp", "cost", "cheapest", "carbon")
SEARCHES = ("exhaustive", "branch-and-bound")
FORMS = (
    "npt",
    "npt:messages",
    "npt:pt",
    "npt:pt-printed",
    "npt:nt",
)  # models that can drive a search, besides the predictors
BOUNDED_FORMS = ("npt", "npt:messages", "npt:pt", "npt:pt-printed")  # models that branch and bound works with

OUTLIERS = ("keep", "reject", "cross-validate")  # what a fit does with runs far slower than the model of the others
UNPREDICTABLE = ("refuse", "caution")  # what to do with measurements that fail a check of predictability

# One of the nine sizes of the paper's Figure 8 is far too slow.  It shows the Himeno benchmark, which "involves many
# glitches, while glitches scarcely appear" with HPL and FEM (section 5.6), so the share is between 0 and one in nine.
GLITCH_SHARE = 0.05
# The rule of section 5.6 with k = 0.9 finds runs slower than 1 / 0.9; 1.5 is this project's choice for "substantially
# lower".
GLITCH_FACTOR = 1.5


FIRST_OPTIONS = (  # in the short help
    *("--simulate", "--scenario", "--platform", "--app", "--size", "--program", "--nodes", "--processes"),
    *("--objective", "--dry-run", "--write-hostfile"),
)


@dataclass(frozen=True, kw_only=True)
class SearchOptions(MachineOptions, ProgramOptions, CostOptions, DryRunOption, RunnerOptions):
    """A search for the configuration of a program on a platform."""

    without: ClassVar[frozenset[str]] = frozenset({"start_within"})

    app: str | None = option(None, "NAME", "a kernel, such as hpl", parse=str.lower)
    size: int | None = option(
        None,
        "N",
        "size of a kernel, or of your own program, in whose --program-args {size} stands for it",
    )
    efficiency: str = option(
        "reference",
        "E[,CLUSTER=E,...]|FILE.csv",
        "share of a host's speed that a kernel sustains: a number in (0, 1], reference (default: the fractions of one "
        "real core), measured (on this machine, by gridval program speed), or platform (that of the kernel on a "
        "platform calibrated from a machine); and the shares of clusters whose CPUs sustain another one, such as "
        "0.09,xeon=0.053; or a file of --write-measurements, whose runs of one process tell the share of each cluster",
    )
    nodes: str | None = option(
        None,
        "P1,P2,...",
        "most nodes of each cluster (default: the paper's for its benchmarks on its cluster, else all)",
    )
    processes: str | None = option(
        None,
        "M1,M2,...",
        "most processes on a node of each cluster (default: its cores; on nodes of one core 2, on the slowest 1; with "
        "models of measured runs 1 or 2)",
    )
    predictor: str | None = option(
        None,
        "NAME",
        f"models that drive the search: {', '.join(FORMS)}; or a predictor, {help_text(but=FORMS)} (default: "
        "dpgraph:known; npt for kernels with a size where the network between clusters is like the one inside them)",
        parse=any_case(*FORMS, *PREDICTORS, *SELF_CHECKS),
    )
    fit: str | None = option(None, "nnls|ls", "how models are fitted (default: nnls)")
    weights: str | None = option(
        None,
        "absolute|relative|local",
        "errors that the fit minimises: relative ones (default), local ones, which count more near the size and "
        "the numbers of processes of the choice, or absolute ones in seconds, as in the paper",
    )
    drop: tuple[str, ...] = option((), "TERM", 'leave a term out of the models, such as "log P"')
    glitches: float | None = option(
        None,
        "K",
        "leave out measurements that perform at most K times as well as the next smaller size (the paper: 0.9)",
    )
    measurements: str | None = option(
        None,
        "FILE.csv",
        "choose by runs that were measured on a real cluster, instead of simulated ones: the columns size, "
        "configuration, time_s; checks first whether they are predictable",
    )
    unpredictable: str | None = option(
        None,
        "refuse|caution",
        "what to do if --measurements fail a check of predictability: refuse to choose (default), or say so",
        parse=str.lower,
    )
    outliers: str | None = option(
        None,
        "|".join(OUTLIERS),
        "runs far slower than the model of the others: keep them (default), reject them, or do what predicts "
        "left-out sizes better",
        parse=str.lower,
    )
    probe: int | None = option(
        None,
        "K",
        "run a few iterations on the K configurations of distinct numbers of processes that are estimated to be "
        "best, and choose among them (default: 3 where measured models choose for a program with iterations, or the "
        "graph for a program of your own without, which is run whole; otherwise 0: none)",
    )
    bootstrap: int | None = option(
        None, "B", "resample the measurements B times, and give the share in which the choice is the best (default: 0)"
    )
    construction: str | None = option(
        None,
        "N1,N2,...",
        "sizes that are measured (default: the paper's for its benchmarks, the smaller classes of a kernel with "
        "classes, else --size halved one to five times)",
    )
    terms: str | None = option(
        None,
        "T1,T2,...",
        'terms of the models, such as "N^2/P,N,log P" (default: those of the kernel; of other programs those of a '
        "small family by which left-out runs are predicted best)",
    )
    noise: float | None = option(
        None,
        "SIGMA",
        f"multiply measured times by exp(SIGMA z), z standard normal, and make {100 * GLITCH_SHARE:g} %% of them "
        f"{GLITCH_FACTOR:g} times longer, like those of real machines (default: 0, none)",
    )
    seed: int | None = option(None, "S", "seed of the noise (default: 0)")
    objective: str = option(
        "time",
        "NAME",
        f"value to minimise: {', '.join(OBJECTIVES)}; edp: energy times time; cheapest: the cost by --price, "
        "within --slack of the best time; carbon: emissions by --carbon",
        parse=str.lower,
    )
    watts: str | None = option(
        None,
        "IDLE:FULL,...",
        "watts of an idle and of a busy node of each cluster, for energy and edp (default: those of the platform)",
    )
    slack: float | None = option(None, "X", "for cheapest: times up to 1 + X of the best (default: 0.1)")
    search: str = option("exhaustive", "HOW", f"{' or '.join(SEARCHES)} (default: exhaustive)", parse=str.lower)


@dataclass(frozen=True, kw_only=True)
class NodesRequest(SearchOptions, WideOption, JsonOption):
    """A program for which nodes are chosen."""

    rank_order: bool = option(
        False, help="also choose the order of the ranks on the chosen nodes, by the graph of the program"
    )
    then: int = option(0, "K", "search K times more, each on the nodes that remain (default: 0)")
    write_hostfile: str | None = option(None, "FILE", "write the chosen hosts, one per line in rank order")
    write_measurements: str | None = option(
        None,
        "FILE.csv",
        "write the runs to which models are fitted, one line for each repeat, for --measurements; those of an "
        "interrupted command are kept, and --dry-run shows which are to be made",
    )
