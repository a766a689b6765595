"""Choose a cloud instance for a program: its predicted time and cost on instances whose networks were measured.

The networks are those of docs/planning/cost-and-carbon.md; nothing is simulated but the evidence of the predictor.

Cloud instances: their nodes, and their networks by lines between measured times of messages.

Between two neighbouring sizes of the rows with use ``preset``, the time of a message is the line through both; SMPI
takes it as a factor of the latency and one of the bandwidth.  No factor of the bandwidth is above 1, so that the time
of small messages, where bandwidth does not matter, may be up to the size over the bandwidth off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Any

from apps.errors import SimulationError
from apps.options.exit_status import exit_status
from apps.options.programs import ProgramOptions
from apps.options.runner import RunnerOptions, runner_from_request
from apps.options.settings import SettingsOptions, settings_from_request
from apps.programs.problem import Problem
from apps.results.cautions import Cautions
from apps.spec.target import Target
from platforms.command.command import Command
from platforms.command.parser import any_case
from platforms.command.request import JsonOption, option
from platforms.errors import UserError, known_names
from platforms.files.checked_toml import read_checked
from platforms.files.commented_csv import commented_rows
from platforms.grids.grid import Grid, GridCluster, Wire
from platforms.model.placement import block
from platforms.prices.bill import UNKNOWN, amount_text
from platforms.prices.options import PriceOption, prices_from_request
from platforms.prices.price import S_PER_HOUR, Prices, named_tables, text_of
from platforms.read.read import materialise
from platforms.terminal.prose import prose_lines
from platforms.terminal.quantities import duration, percent
from platforms.terminal.table import table_lines
from predictor.answers.answers import Answer, answers_or_reasons, names
from predictor.evidence.broker import Broker
from predictor.options import problems_from_request
from predictor.registry import PREDICTORS, help_text, predictor

_FOLDER = Path(__file__).parent
_KEYS = {
    "": ("instances",),
    "instances": ("title", "cores", "speed_gflops", "date", "bandwidth_gbyte_s"),
}
_NOT_LIMITING_BPS = 1e13
DEFAULT_PREDICTOR = "dpgraph:known"
UNMEASURED = (
    "not measured: messages inside a node, links shared by many nodes, what the program sustains of the peak speed "
    "there (--efficiency), the watts, and so the emissions"
)


@dataclass(frozen=True)
class Message:
    """A measured time of a message."""

    cluster_nodes: int
    size_bytes: int
    time_s: float


@dataclass(frozen=True)
class Segment:
    """Messages from a size on: their time is ``latency_s + size / bandwidth_Bps``."""

    from_bytes: int
    latency_s: float
    bandwidth_Bps: float


@dataclass(frozen=True)
class Preset:
    """A cloud instance."""

    name: str
    title: str
    cores: int
    speed_flops: float  # of one core, peak
    day: str  # of the measurements
    bandwidth_Bps: float  # of a node with many messages on the way
    used: tuple[Message, ...]  # by size
    held_out: tuple[Message, ...]  # other sizes and clusters

    @property
    def latency_s(self) -> float:
        """Time of the smallest message."""
        return self.used[0].time_s

    @property
    def segments(self) -> list[Segment]:
        """Return the lines between the measured times."""
        made = []
        for first, second in pairwise(self.used):
            step = second.size_bytes - first.size_bytes
            per_byte = max((second.time_s - first.time_s) / step, 1 / self.bandwidth_Bps)
            latency_s = max(first.time_s - first.size_bytes * per_byte, 0.0)
            made.append(Segment(first.size_bytes, latency_s, 1 / per_byte))
        return made

    def message_s(self, size_bytes: int) -> float:
        """Return the time of a message on an idle network."""
        segment = [one for one in self.segments if one.from_bytes <= size_bytes][-1]
        return segment.latency_s + size_bytes / segment.bandwidth_Bps

    def held_out_errors_pct(self) -> list[float]:
        """Return the absolute errors of the messages that the preset does not rest on."""
        return [100 * abs(self.message_s(one.size_bytes) / one.time_s - 1) for one in self.held_out]

    def grid(self, nodes: int) -> Grid:
        """Return a cluster of these instances.

        Raises:
            PlatformError: There are too many nodes.
        """
        factors = {
            "smpi/lat-factor": ";".join(
                f"{one.from_bytes}:{one.latency_s / self.latency_s:.9g}" for one in self.segments
            ),
            "smpi/bw-factor": ";".join(
                f"{one.from_bytes}:{one.bandwidth_Bps / self.bandwidth_Bps:.9g}" for one in self.segments
            ),
            "network/TCP-gamma": "0",
            "network/crosstraffic": "no",
        }
        node, backbone = Wire(self.bandwidth_Bps, self.latency_s / 2), Wire(_NOT_LIMITING_BPS, 0.0)
        cluster = GridCluster("cloud", nodes, self.speed_flops, node, backbone, self.cores)
        return Grid(f"{self.name} x {nodes}", self.name, (cluster,), "mesh", (), tuple(factors.items()))


@cache
def presets() -> dict[str, Preset]:
    """Return the instances by name."""
    used: dict[str, list[Message]] = {}
    held_out: dict[str, list[Message]] = {}
    for row in commented_rows(_FOLDER / "messages.csv"):
        message = Message(int(row["cluster_nodes"]), int(row["size_bytes"]), float(row["latency_us"]) / 1e6)
        (used if row["use"] == "preset" else held_out).setdefault(row["instance"], []).append(message)
    file = read_checked(_FOLDER / "instances.toml", _KEYS, "file of instances")
    return {
        name: Preset(
            name, entry.text("title"), entry.integer("cores"), entry.number("speed_gflops") * 1e9,
            text_of("date", entry) or "", entry.number("bandwidth_gbyte_s") * 1e9,
            tuple(sorted(used[name], key=lambda one: one.size_bytes)), tuple(held_out[name]),
        )
        for name, entry in named_tables(file, _KEYS, "instances").items()
    }  # fmt: skip


def preset(name: str, option: str = "--instances") -> Preset:
    """Return an instance by its name, which ``option`` gives.

    Raises:
        UserError: There is none of this name.
    """
    if name not in presets():
        raise UserError(f"{option} {name}", "no such instance", known_names(name, presets()))
    return presets()[name]


@dataclass(frozen=True, kw_only=True)
class InstanceRequest(ProgramOptions, SettingsOptions, PriceOption, RunnerOptions, JsonOption):
    """A program for which an instance is chosen."""

    ranks: int | None = option(None, "P", "number of ranks, one on each core of as few nodes as hold them")
    instances: str | None = option(
        None, "N1,N2,...", lambda _: f"the instances to compare (default: all): {', '.join(presets())}"
    )
    predictor: str = option(
        DEFAULT_PREDICTOR, "NAME", f"{help_text()} (default: {DEFAULT_PREDICTOR})", parse=any_case(*PREDICTORS)
    )


@dataclass(frozen=True)
class Offer:
    """An instance, the nodes that it takes, and the answer of the predictor."""

    instance: Preset
    nodes: int
    answer: Answer
    prices: Prices | None

    @property
    def time_s(self) -> float | None:
        """Predicted time; None: there is no prediction."""
        return None if self.answer.prediction is None else self.answer.prediction.time_s

    @property
    def cost(self) -> float | None:
        """Cost of the run; None: it is not known."""
        price = None if self.prices is None else self.prices.of_name(self.instance.name)
        if price is None or self.time_s is None:
            return None
        return price.of_node_hour(self.instance.cores) * self.nodes * self.time_s / S_PER_HOUR

    def to_json(self) -> dict[str, Any]:
        """Return the offer as JSON values."""
        price = None if self.prices is None else self.prices.of_name(self.instance.name)
        return {
            "instance": self.instance.name,
            "nodes": self.nodes,
            "ranks": self.answer.target.nranks,
            "time_s": self.time_s,
            "cost": self.cost,
            "currency": None if self.prices is None else self.prices.currency,
            "price_date": None if price is None else price.day,
            "refused": self.answer.refusal,
            "message_error_pct": fmean(self.instance.held_out_errors_pct()),
            "largest_message_error_pct": max(self.instance.held_out_errors_pct()),
            "messages_compared": len(self.instance.held_out),
            "measured": self.instance.day,
        }


@dataclass(frozen=True)
class Offers:
    """The offers for a program, the fastest first."""

    problem: Problem
    offers: Sequence[Offer]
    cautions: Cautions

    def text(self) -> str:
        """Return a table of the offers, and what is known and unknown about them."""
        prices = self.offers[0].prices
        currency = [] if prices is None else [f"cost, {prices.currency}"]
        rows = [["instance", "nodes", "time", *currency, "messages +- %", "measured"]]
        for offer in self.offers:
            error = percent(fmean(offer.instance.held_out_errors_pct()))
            cells = [
                offer.instance.name,
                str(offer.nodes),
                duration(offer.time_s),
                *([amount_text(offer.cost)] if currency else []),
            ]
            rows.append([*cells, error, offer.instance.day])
        first = self.offers[0].answer
        lines = [*prose_lines(f"{self.problem} on {first.target.nranks} ranks, by {first.predictor}"), ""]
        lines += [*table_lines(rows, left={0}), ""]
        return "\n".join(lines + [line for said in self._sentences() for line in prose_lines(said)])

    def _sentences(self) -> list[str]:
        timed = [offer for offer in self.offers if offer.time_s is not None]
        priced = [offer for offer in timed if offer.cost is not None]
        prices = self.offers[0].prices
        said = [f"fastest: {timed[0].instance.name}"] if timed else []
        if prices is None:
            said.append("cost unknown: no prices are given (--price prices.toml); the project has none")
        elif priced:
            dates = prices.dated([offer.instance.name for offer in priced])
            best = min(priced, key=lambda offer: offer.cost or 0.0)
            said.append(f"cheapest: {best.instance.name}, by prices {'; '.join(dates) or 'without source and date'}")
        for offer in self.offers:
            if prices is not None and prices.of_name(offer.instance.name) is None:
                said.append(f"cost {UNKNOWN}: no price for {offer.instance.name}")
            if offer.answer.refusal is not None:
                said.append(f"{offer.instance.name}: no answer: {offer.answer.refusal}")
        return [*said, UNMEASURED]

    def to_json(self) -> dict[str, Any]:
        """Return the offers and the cautions as JSON values."""
        offers = [offer.to_json() for offer in self.offers]
        return {
            "app": self.problem.name, "class": self.problem.label, "offers": offers, "unknown": UNMEASURED,
            "cautions": self.cautions.lines(),
        }  # fmt: skip

    @property
    def status(self) -> int:
        """Exit status: 2 if no instance has an answer."""
        return 0 if any(offer.time_s is not None for offer in self.offers) else 2


def answer(request: InstanceRequest) -> Offers:
    """Predict a program on each instance.

    Raises:
        UserError: An option is wrong.
        SimulationError: A run of the evidence fails on every instance.
    """
    if request.ranks is None or request.ranks < 1:
        raise UserError("--ranks", "not given, or below 1", "Give the number of ranks of the program")
    chosen = [preset(name) for name in names(request.instances or ",".join(presets()), "--instances")]
    prices, settings, model = prices_from_request(request), settings_from_request(request), predictor(request.predictor)
    if prices is not None and prices.by_place:
        raise UserError(
            f"--price {request.price}", "several prices without names", "Write NAME=PRICE for each instance"
        )
    for name in () if prices is None or not prices.strict else prices.by_name:
        preset(name, "--price")
    problems = problems_from_request(request)
    if len(problems) != 1:
        raise UserError("--app", f"{len(problems)} programs", "Name one, or give --program FILE")
    said, offers = Cautions(), []
    with runner_from_request(request, cautions=said, saying=False) as runner:
        for instance in chosen:
            nodes = ceil(request.ranks / instance.cores)
            platform = materialise(instance.grid(nodes))
            target = Target(problems[0], platform, block(platform, request.ranks, instance.cores))
            (made,) = answers_or_reasons(model, [target], Broker.of(settings, [target], runner))
            offers.append(Offer(instance, nodes, made, prices))
    if all(isinstance(offer.answer.error, SimulationError) for offer in offers) and offers[0].answer.error is not None:
        raise offers[0].answer.error
    return Offers(problems[0], sorted(offers, key=_time), said)


def _time(offer: Offer) -> float:
    return float("inf") if offer.time_s is None else offer.time_s


def _say_cautions(request: InstanceRequest, made: Offers) -> None:
    made.cautions.say_all()


COMMAND = Command(
    "plan instance", InstanceRequest, answer, __doc__, after=_say_cautions, status=exit_status,
    first=("--program", "--app", "--class", "--size", "--ranks", "--instances", "--price", "--efficiency"),
)  # fmt: skip
main = COMMAND.main
