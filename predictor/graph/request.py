"""Request of ``gridval graph``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from apps.options.dry_run import DryRunOption
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions
from apps.options.settings import ComputeOptions
from platforms.command.request import JsonOption, WideOption, option
from platforms.options import PlacementOptions, PlatformOptions
from predictor.evidence.given import RecordingOptions

COLLECTIVES = ("points", "messages")
TIMES = ("network", "measured", "li")
RANKS = 4


@dataclass(frozen=True, kw_only=True)
class GraphRequest(
    PlatformOptions,
    ProgramOptions,
    RecordingOptions,
    ComputeOptions,
    PlacementOptions,
    JsonOption,
    WideOption,
    RunnerOptions,
    DryRunOption,
):
    """A program whose graph is wanted, and the platform that gives it times."""

    default_class: ClassVar[str] = "S"

    app: str | None = option(None, "A", "a kernel, such as is")
    ranks: int | None = option(
        None, "P", f"processes (default: {RANKS}, or as many as fit on the platform, as far as the kernel allows them)"
    )
    iterations: int | None = option(
        None, "K", "number of recorded iterations (default: 1; on a platform 3, or all where they differ)"
    )
    collectives: str = option(
        "points",
        "HOW",
        f"{' or '.join(COLLECTIVES)}: show each collective as one node, or as its messages (default: points)",
    )
    elements: int | None = option(None, "N", "keep only the first N elements of each process")
    graphml: str | None = option(None, "FILE", "write the graph to this GraphML file")
    draw: str | None = option(None, "FILE", "draw the graph to this .png, .svg or .pdf (up to 200 elements)")
    folded: bool = option(False, help="show the program too: its loops and the branches of some processes")
    balance: bool = option(
        False, help="on a platform: what would the run save if work moved between the processes, at equal messages?"
    )
    times: str | None = option(
        None,
        "HOW",
        f"on a platform: {', '.join(TIMES[:-1])} or {TIMES[-1]}: network, messages on the platform's links, with "
        "waiting and shared links (default); measured, the same on links that messages between the nodes show, as "
        "dpgraph measures them; li, the Li paper's components of messages, measured between nodes",
        parse=str.lower,
    )
    timeline: str | None = option(
        None, "FILE", "on a platform: draw processes over time and the critical path, to this .png, .svg or .pdf"
    )
    what_if: float | None = option(
        None,
        "F",
        "on a platform: what if the whole network, or one link, node, cluster, call or computation were F times as "
        "fast? A ranked table of what the run saves",
    )
    efficiency: str = option(
        "reference",
        "E",
        "on a platform: share of a host's speed that a kernel sustains, as in gridval predict (default: reference)",
        parse=str.lower,
    )
    cfg: tuple[str, ...] = option((), "KEY:VALUE", "on a platform: a SimGrid option; may be given several times")
