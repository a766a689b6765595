"""Predictors under check: the targets of a case, on changed platforms too, and the answers with their evidence.

The network is ``infiniband``, which has no TCP window and no CPU time of messages.  One other constant of SimGrid is in
seconds, and SETTINGS make it negligible: times are equal within 1 ns, which changes simulated times of CG by up to
1e-5.  On a platform of doubled speeds and bandwidths and halved latencies, every simulated time is then halved to the
last bits.
"""

import functools
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.grid import Grid, WanLink, Wire, wan_ends
from platforms.grids.scenario import named_grid
from platforms.grids.xml import platform_xml
from platforms.model.placement import block
from platforms.model.platform import Platform
from platforms.read.read import kept_file, materialise, read_platform
from predictor.answers.answers import Answer, predict
from predictor.base import Cost, Evidence, EvidenceRequest, Prediction, Predictor
from predictor.evidence.broker import Broker, RefusedEvidence

NETWORK = "infiniband"
SETTINGS = Settings(options=(("surf/precision", "1e-12"),))
SPEEDS_FLOPS = (40e9, 50e9, 60e9, 70e9)
_UNKNOWN_PROGRAM = Path(__file__).with_name("unknown_program.c")
LEAST_TARGETS = 2  # that a predictor has to answer in a case
_SIMULATORS = ("smpirun", "smpimain", "s4u")  # in the command lines of simulations


@dataclass(frozen=True)
class ConformanceCase:
    """Problems on all nodes of a grid, a rank on each."""

    clusters: int
    nodes: int  # of each cluster
    problems: tuple[tuple[str, str], ...]  # name and class
    ranks: tuple[int, ...] = ()  # numbers of ranks; (): as many as nodes

    @cached_property
    def grid(self) -> Grid:
        """The grid."""
        name = f"grid{self.clusters}x{self.nodes}"
        return named_grid(name, NETWORK, SPEEDS_FLOPS[: self.clusters])

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """The targets."""
        platform = materialise(self.grid)
        placements = [block(platform, ranks) for ranks in self.ranks or (self.clusters * self.nodes,)]
        return tuple(
            Target(problem(*numbers), platform, placement) for numbers in self.problems for placement in placements
        )

    def __str__(self) -> str:
        ranks = f", {' and '.join(map(str, self.ranks))} ranks" if self.ranks else ""
        return f"{', '.join(f'{name} {preset}' for name, preset in self.problems)} on {self.grid.name}{ranks}"


# A predictor is checked on the first of these of which it answers at least two targets.
CASES = (
    ConformanceCase(4, 2, (("cg", "S"), ("ep", "S"), ("mg", "S"))),  # the least ranks that the validity map has
    ConformanceCase(1, 4, (("cg", "S"), ("ep", "S"), ("mg", "S"))),  # equal nodes
    ConformanceCase(2, 3, (("ep", "A"),), ranks=(6, 4)),  # smaller classes, and several nodes per cluster
    ConformanceCase(3, 4, (("cg", "S"), ("ep", "S"))),  # many smaller numbers of nodes
)


def scaled(case: ConformanceCase, targets: tuple[Target, ...], factor: float) -> tuple[Target, ...]:
    """Return the targets on a grid with speeds and bandwidths times ``factor``, and latencies divided by it."""

    def wire(other_wire: Wire) -> Wire:
        return Wire(other_wire.bandwidth_Bps * factor, other_wire.latency_s / factor)

    clusters = tuple(
        replace(
            cluster, speed_flops=cluster.speed_flops * factor, node=wire(cluster.node), backbone=wire(cluster.backbone)
        )
        for cluster in case.grid.clusters
    )
    links = tuple(replace(link, wire=wire(link.wire)) for link in case.grid.wan_links)
    platform = materialise(replace(case.grid, clusters=clusters, wan_links=links))
    return tuple(replace(target, platform=platform) for target in targets)


def renamed(case: ConformanceCase, targets: tuple[Target, ...]) -> tuple[Target, ...]:
    """Return the targets on the same grid with other names, whose alphabetical order is the reverse."""
    clusters = case.grid.clusters
    names = {cluster.name: f"site{len(clusters) - i}" for i, cluster in enumerate(clusters)}
    grid = _with_clusters(case.grid, [(names[cluster.name], cluster.name) for cluster in clusters])
    hosts = {f"{cluster.name}-{k}": f"{names[cluster.name]}-{k}" for cluster in clusters for k in range(cluster.nodes)}
    return _moved(targets, materialise(grid), hosts)


def permuted(case: ConformanceCase, targets: tuple[Target, ...]) -> tuple[Target, ...]:
    """Return the targets on the same grid with its clusters, and the hosts of each, in the reverse order.

    Every rank stays on an equal host.
    """
    clusters = case.grid.clusters
    grid = _with_clusters(case.grid, [(cluster.name, cluster.name) for cluster in reversed(clusters)])
    hosts = {
        f"{cluster.name}-{k}": f"{cluster.name}-{cluster.nodes - 1 - k}"
        for cluster in clusters
        for k in range(cluster.nodes)
    }
    return _moved(targets, materialise(grid), hosts)


def _with_clusters(grid: Grid, names: list[tuple[str, str]]) -> Grid:
    """Return the grid with its clusters in this order; each pair has the new and the old name of a cluster."""
    old = {cluster.name: cluster for cluster in grid.clusters}
    new_of = {before: name for name, before in names}
    wires = {frozenset((new_of[link.first], new_of[str(link.second)])): link.wire for link in grid.wan_links}
    ends = wan_ends(grid.wan_shape, [name for name, _ in names])
    links = tuple(WanLink(first, second, wires[frozenset((first, str(second)))]) for first, second in ends)
    return replace(grid, clusters=tuple(replace(old[b], name=n) for n, b in names), wan_links=links)


def _moved(targets: tuple[Target, ...], platform: Platform, hosts: dict[str, str]) -> tuple[Target, ...]:
    return tuple(
        replace(target, platform=platform, placement=tuple(hosts[host] for host in target.placement))
        for target in targets
    )


def odd_targets() -> Iterator[tuple[str, Target]]:
    """Yield targets that not every predictor has to answer, each with its description."""
    grid = named_grid("grid2x2", NETWORK, SPEEDS_FLOPS[:2])
    platform = materialise(grid)
    twice = tuple(host for host in block(platform, 2) for _ in range(2))
    two_cores = materialise(replace(grid, clusters=tuple(replace(cluster, cores=2) for cluster in grid.clusters)))
    one_cluster = read_platform(kept_file(platform_xml(named_grid("grid1x4", NETWORK, SPEEDS_FLOPS[:1]))), "file")
    cg = problem("cg", "S")
    yield "two ranks on each core", Target(cg, platform, twice)
    yield "a rank on each of two cores", Target(cg, two_cores, twice)
    yield "one rank", Target(cg, platform, twice[:1])
    yield "one host", Target(cg, platform, twice[:1] * 4)
    yield (
        "a program of its user",
        Target(own_problem(read_program(_UNKNOWN_PROGRAM, "{iterations}", 20)), platform, block(platform, 4)),
    )
    yield "a platform file of one cluster", Target(cg, one_cluster, block(one_cluster, 4))


class Watch:
    """Gives a predictor its evidence, and notes it, and the simulations that the predictor starts itself."""

    def __init__(self, broker: Broker):
        self._broker = broker
        self.evidence: list[Evidence] = []
        self.started: list[str] = []  # command lines
        self._thread: int | None = None  # that is watched; None: evidence is being gathered

    def gather(self, requests: Sequence[EvidenceRequest]) -> list[Evidence]:
        """Return the evidence, in the order of the requests."""
        thread, self._thread = self._thread, None
        try:
            gathered = self._broker.gather(requests)
        finally:
            self._thread = thread
        self.evidence += gathered
        return gathered

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Note the simulations that this thread starts, except those that gather evidence."""
        _listen()
        self._thread = threading.get_ident()
        _WATCHES.append(self)
        try:
            yield
        finally:
            _WATCHES.remove(self)

    def heard(self, command: str) -> None:
        """Note a process that the watched thread has started, if it simulates."""
        if self._thread == threading.get_ident() and any(simulator in command for simulator in _SIMULATORS):
            self.started.append(command)


_WATCHES: list[Watch] = []


@functools.cache
def _listen() -> None:
    """Tell the watches of every process that Python starts, from now on."""

    def hear(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "subprocess.Popen" and _WATCHES:
            words = arguments[1]
            for watch in _WATCHES:
                watch.heard(words if isinstance(words, str) else " ".join(map(str, words)))

    sys.addaudithook(hear)


@dataclass(frozen=True)
class AskedTarget:
    """The answers of a predictor to some targets."""

    answers: tuple[Answer, ...]  # in the order of the targets
    evidence: tuple[Evidence, ...]  # each piece once
    started: tuple[str, ...]  # simulations that the predictor started itself

    @property
    def cost_node_s(self) -> float:
        """Cost of all evidence, node-seconds."""
        return sum(item.cost.node_s for item in self.evidence)

    def prediction(self, target: Target) -> Prediction:
        """Return the prediction of a target.

        Raises:
            UserError: The predictor refuses the target.
        """
        (own_answer,) = (answer for answer in self.answers if answer.target == target)
        if own_answer.prediction is None:
            raise UserError(str(target), f"refused here, but not elsewhere: {own_answer.refusal}", "Answer it")
        return own_answer.prediction


def ask(predictor: Predictor, targets: Sequence[Target], runner: Runner) -> AskedTarget:
    """Return a predictor's answers to targets, with evidence from a broker that refuses runs of them.

    Raises:
        UserError: As ``predictor.answers.answers.predict``.
    """
    watch = Watch(Broker.of(SETTINGS, targets, runner))
    with watch.watching():
        answers = predict(predictor, targets, watch)
    evidence = {item.id: item for item in watch.evidence}
    return AskedTarget(tuple(answers), tuple(evidence.values()), tuple(watch.started))


class NoCase(UserError):
    """A predictor answers too few targets of every case."""


@dataclass
class Subject:
    """A predictor, the case on which it is checked, and those of the case's targets that it answers."""

    predictor: Predictor
    runner: Runner
    case: ConformanceCase
    targets: tuple[Target, ...]
    _kept: dict[tuple[Target, ...], AskedTarget] = field(default_factory=dict)

    def asked(self, *targets: Target) -> AskedTarget:
        """Return the answers to these targets; each combination of targets is asked once."""
        if targets not in self._kept:
            self._kept[targets] = ask(self.predictor, targets, self.runner)
        return self._kept[targets]

    def true_time_s(self, target: Target) -> float:
        """Return the simulated time of a target, s."""
        return self.runner.record(SETTINGS.spec(target)).time_s


def subject(predictor: Predictor, runner: Runner) -> Subject:
    """Return the subject with the first case of which the predictor answers enough targets.

    Raises:
        RefusedEvidence: The predictor asked for the run of a target.
        NoCase: There is no such case.
    """
    refusals = []
    for case in CASES:
        try:
            asked_subject = ask(predictor, case.targets, runner)
        except RefusedEvidence:
            raise
        except UserError as err:
            refusals.append(str(err))
            continue
        answered = tuple(answer.target for answer in asked_subject.answers if answer.prediction is not None)
        if len(answered) >= LEAST_TARGETS:
            made = Subject(predictor, runner, case, answered)
            if answered == case.targets:
                made._kept[answered] = asked_subject
            return made
        refusals += [answer.refusal for answer in asked_subject.answers if answer.refusal is not None]
    raise NoCase(predictor.name, f"no answer for any case, such as: {refusals[0].rstrip('.')}", "Answer two targets")


def described(err: Exception) -> str:
    """Return an exception as one line, with the place of the code that raised it."""
    frames = traceback.extract_tb(err.__traceback__)
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(err).__name__}: {' '.join(str(err).split())}{place}"


def comparable(made: Prediction) -> Prediction:
    """Return a prediction without the time that this computer took."""
    return replace(made, cost=Cost(made.cost.node_s))


def run_key(target: Target) -> tuple[Hashable, ...]:
    """Return the properties that decide a run's time, regardless of the hosts' names."""
    ranks = Counter(target.placement)
    hosts = Counter(
        (target.platform.host(host).speed_flops, target.platform.host(host).cores, count)
        for host, count in ranks.items()
    )
    problem = target.problem
    return problem.name, problem.params, problem.program, frozenset(hosts.items())
