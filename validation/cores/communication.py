"""Comparison of the hierarchical model with this project's kernels under SMPI with a memory bus.

With l_c the speed of a core, the model has t q p l_c / flops = 1 / eta = 1 + memory + network.  A simulation has the
same terms: beyond 1 there are the excess work of the busiest rank over the mean, the waiting for memory, and the rest,
which is communication.  The part of the communication that disappears on a network without latency is the latency's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from apps.programs.problem import Problem
from apps.results.record import RunRecord
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.grid import Wire
from platforms.grids.network import named_network
from platforms.grids.xml import HEADER, number_text, wire_attributes
from platforms.model.placement import block
from platforms.model.platform import Platform
from platforms.read.read import kept_file, read_platform
from predictor.hierarchical.applications import application
from predictor.hierarchical.counts.declared import Plan, counted, kernel_problem
from predictor.hierarchical.model import COUNTED, DERIVED, PRINTED, Beta
from predictor.hierarchical.multicore_cluster import MulticoreCluster
from predictor.hierarchical.surface import Surface, terms_of

_NETWORK = "infiniband"
INSIDE = ("network", "memory")  # paths of messages between the ranks of a node
# Latency of both ends together.  SimGrid divides by it, so it is not 0; it is negligible beside all other times.
_NO_LATENCY_S = 1e-12


def machine(system: MulticoreCluster, nodes: int, *, inside: str = "memory", latency: bool = True) -> Platform:
    """Return a platform of nodes on a non-blocking switch; each node has a full-duplex link of bandwidth b_cl.

    Latency, protocol and headers are those of network infiniband.

    Args:
        system: The machine of the model.
        nodes: Number of nodes.
        inside: "network": messages within a node cross its link to the switch and back, as on this project's
            scenarios; "memory": they pass through memory at b_m, without latency and contention.
        latency: Give the links the latency of the network; otherwise it is negligible.
    """
    # Imported here for a quick start: it is slow to import.
    from lxml import etree

    network = named_network(_NETWORK)
    bandwidth_Bps = float(system.network_Bps)
    node = Wire(bandwidth_Bps, network.node.latency_s if latency else _NO_LATENCY_S)
    options = {**dict(network.options), "smpi/bw-factor": "0:1"}  # b_cl is the bandwidth that MPI reaches
    root = etree.Element("platform", version="4.1")
    config = etree.SubElement(root, "config")
    for key, value in sorted(options.items()):
        etree.SubElement(config, "prop", id=key, value=value)
    zone = etree.SubElement(root, "zone", id="machine", routing="Full")
    memory_Bps = None if system.memory_Bps is None else float(system.memory_Bps)
    loopback = {}
    if inside == "memory":
        loopback = wire_attributes(
            Wire(memory_Bps or 1e3 * bandwidth_Bps, _NO_LATENCY_S), "loopback_bw", "loopback_lat"
        )
    attributes = {
        "id": "nodes", "prefix": "node-", "suffix": "", "radical": f"0-{nodes - 1}",
        "speed": f"{number_text(float(system.core_flops))}f", "core": str(system.cores), **loopback,
        **wire_attributes(node, "bw", "lat"), **wire_attributes(Wire(nodes * bandwidth_Bps, 0.0), "bb_bw", "bb_lat"),
    }  # fmt: skip
    cluster = etree.SubElement(zone, "cluster", attributes)
    if memory_Bps is not None:
        etree.SubElement(cluster, "prop", id="memory_bandwidth", value=number_text(memory_Bps))
    platform = read_platform(
        kept_file(HEADER + etree.tostring(root, pretty_print=True)), f"{system.name}, {nodes} nodes"
    )
    return replace(platform, network=_NETWORK)


REGIONS = ("one core", "one node", "one core per node", "several of each")
BYTES = ("declared", "table")
SHOWN = (COUNTED, DERIVED, PRINTED)  # variants: by the kernels' own counts, and twice by the paper's table
_MATTERS = 0.05  # share of 1 / eta: smaller differences are given no cause


def kernel_on(app: str, n: int, ranks: int) -> Problem:
    """Return the kernel for a program of the paper's table on a number of ranks.

    Raises:
        UserError: No kernel corresponds to ``app``, or the kernel does not allow this size or number of ranks.
    """
    asked = kernel_problem(app, n, ranks)
    if not asked.allows(ranks):
        raise UserError(asked.on(ranks), "the kernel's own rule does not allow it", "Give powers of two")
    return asked


@dataclass(frozen=True)
class Study:
    """A program on a machine, with the settings of its simulation and of the model."""

    system: MulticoreCluster
    app: str
    n: int
    cores: tuple[int, ...]
    nodes: tuple[int, ...]
    inside: str = "memory"  # path of messages within a node: one of machine.INSIDE
    bytes_from: str = "declared"  # #b: "declared" by the kernel, or that of the paper's "table"
    overlap: bool = False  # the model's s(z) is min(1, z); simulations do not overlap memory and computation
    beta: Beta | None = None  # beta(q, p) of the model; None: the program's own

    def check(self) -> None:
        """Check the study.

        Raises:
            UserError: Cores, nodes, bytes_from or the kernel do not fit the machine.
        """
        self.check_machine()
        for q in self.cores:
            for p in self.nodes:
                kernel_on(self.app, self.n, q * p)

    def check_machine(self) -> None:
        """Check what the study says of the machine.

        Raises:
            UserError: Cores, nodes or bytes_from do not fit the machine.
        """
        for q in self.cores:
            if not 1 <= q <= self.system.cores:
                raise UserError(f"--cores {q}", f"{self.system.name} has {self.system.cores}", "Give 1 to that")
        for p in self.nodes:
            if not 1 <= p <= self.system.nodes:
                raise UserError(f"--nodes {p}", f"{self.system.name} has {self.system.nodes}", "Give 1 to that")
        if self.bytes_from not in BYTES:
            raise UserError(f"--bytes {self.bytes_from}", "no such choice", f"Known: {', '.join(BYTES)}")

    @property
    def shared(self) -> Beta:
        """The model's beta(q, p)."""
        return self.beta or application(self.app).beta

    def surface(self, variant: str) -> Surface:
        """Return the model's surface in a variant, one of SHOWN."""
        if variant == COUNTED:
            plan = Plan(self.app, self.n, self.system, inside_is_network=self.inside == "network")
            return plan.surface(overlap=self.overlap, bytes_per_operation=self._bytes_per_operation)
        return application(self.app).surface(self.n, self.system, variant=variant, beta=self.beta, overlap=self.overlap)

    @property
    def _bytes_per_operation(self) -> float | None:
        """#b / #op of the paper's table, if it is to be simulated; None: the kernel's own."""
        if self.bytes_from != "table" or self.system.memory_Bps is None:
            return None
        return float(terms_of(application(self.app).b, self.n)(1, 1)) / kernel_flops(self.app, self.n)

    def spec(self, q: int, p: int, platform: Platform) -> RunSpec:
        """Return the run with q ranks on each of p nodes, at the full speed of the cores."""
        asked = kernel_on(self.app, self.n, q * p)
        bus = None if self.system.memory_Bps is None else float(self.system.memory_Bps)
        target = Target(asked, platform, block(platform, q * p, q))
        return RunSpec(target, memory_bus=bus, bytes_per_flop=self._bytes_per_operation)


def kernel_flops(app: str, n: int) -> float:
    """Return the operations that the kernel counts.

    They equal the paper's #op except for lower-order terms; for FFT they are five times #op.
    """
    asked = kernel_problem(app, n)
    return counted(asked.name).operations(dict(asked.params))


@lru_cache(maxsize=8)
def _surface(study: Study, variant: str) -> Surface:
    return study.surface(variant)


@dataclass(frozen=True)
class Terms:
    """The terms of 1 / eta."""

    memory: float
    network: float  # everything except computation and memory
    node: float  # computation and memory together: 1 + memory, or with overlap the larger of the two

    @property
    def inverse_efficiency(self) -> float:
        """1 / eta."""
        return self.node + self.network


@dataclass(frozen=True)
class Point:
    """Results for one q and p: simulated, and by the variants of the model."""

    study: Study
    q: int
    p: int
    record: RunRecord
    without_latency_s: float | None  # None: there is a single rank

    @property
    def region(self) -> str:
        """The region of REGIONS that q and p belong to."""
        if self.p == 1:
            return REGIONS[0] if self.q == 1 else REGIONS[1]
        return REGIONS[2] if self.q == 1 else REGIONS[3]

    @cached_property
    def ideal_s(self) -> float:
        """Ideal time flops / (q p l_c), s."""
        return self.record.flops / (self.q * self.p * float(self.study.system.core_flops))

    @property
    def speedup(self) -> float:
        """Speed-up over one core that never waits, flops / (t l_c), as in the paper."""
        return self.q * self.p * self.ideal_s / self.record.time_s

    @property
    def imbalance(self) -> float:
        """Excess of the largest number of operations of a rank over the mean, relative to the mean."""
        return max(self.record.rank_flops) * self.q * self.p / self.record.flops - 1

    @property
    def latency(self) -> float:
        """Time due to latency, relative to the ideal time."""
        if self.without_latency_s is None:
            return 0.0
        return (self.record.time_s - self.without_latency_s) / self.ideal_s

    @property
    def simulated(self) -> Terms:
        """The terms of the simulation."""
        core_flops = float(self.study.system.core_flops)
        waits_s = [c - f / core_flops for c, f in zip(self.record.compute_s, self.record.rank_flops, strict=True)]
        memory = sum(waits_s) / len(waits_s) / self.ideal_s
        return Terms(memory, self.record.time_s / self.ideal_s - 1 - memory, 1 + memory)

    def model(self, variant: str) -> Terms:
        """Return the terms of a variant of the model."""
        surface = _surface(self.study, variant)
        memory, network = float(surface.memory(self.q, self.p)), float(surface.network(self.q, self.p))
        return Terms(memory, network, max(1.0, memory) if surface.overlap else 1 + memory)

    def model_speedup(self, variant: str) -> float:
        """Return the speed-up of a variant of the model."""
        return self.q * self.p / self.model(variant).inverse_efficiency

    def error(self, variant: str) -> float:
        """Return the relative error (model - simulated) / simulated of the speed-up."""
        return self.model_speedup(variant) / self.speedup - 1

    def cause(self, variant: str) -> str:
        """Return the model assumption that causes most of the error; empty if the error is small."""
        model, simulated = self.model(variant), self.simulated
        memory, network = simulated.node - model.node, simulated.network - model.network
        if max(abs(memory), abs(network)) < _MATTERS * simulated.inverse_efficiency:
            return ""
        if abs(memory) >= abs(network):
            return "#b too small" if memory > 0 else "#b too large"
        if network < 0:
            return "#x / b_cl too large"
        parts = {"latency": self.latency, "uneven work": self.imbalance}
        name, largest = max(parts.items(), key=lambda part: part[1])
        return name if largest >= network / 2 else "#x / b_cl too small, waiting"


def study_specs(study: Study) -> dict[tuple[int, int], list[RunSpec]]:
    """Return the runs of every q and p of the study: with latency and, if there are several ranks, without.

    Raises:
        UserError: The study is inconsistent.
    """
    study.check()
    most = max(study.nodes)
    real = machine(study.system, most, inside=study.inside)
    quick = machine(study.system, most, inside=study.inside, latency=False)
    places = [(q, p) for q in study.cores for p in study.nodes]
    return {
        (q, p): [study.spec(q, p, platform) for platform in ((real, quick) if q * p > 1 else (real,))]
        for q, p in places
    }


def simulate_points(study: Study, runner: Runner) -> list[Point]:
    """Simulate every q and p of the study with and without latency.

    Raises:
        UserError: The study is inconsistent.
        SimulationError: A simulation failed.
    """
    specs = study_specs(study)
    runner.start(spec for pair in specs.values() for spec in pair)
    points = []
    for (q, p), pair in specs.items():
        records = [runner.record(spec) for spec in pair]
        points.append(Point(study, q, p, records[0], records[1].time_s if len(records) > 1 else None))
    return points


@dataclass(frozen=True)
class RegionError:
    """Errors of one variant in a region."""

    region: str
    variant: str
    points: int
    mean: float  # mean of the relative errors
    mean_absolute: float
    largest: float  # the error farthest from 0, with its sign
    causes: tuple[str, ...]  # the most frequent first


def region_errors(points: Sequence[Point]) -> list[RegionError]:
    """Return the errors by region and variant, in the order of REGIONS, without regions that have no points."""
    made = []
    for region in REGIONS:
        inside = [point for point in points if point.region == region]
        for variant in SHOWN if inside else ():
            errors = [point.error(variant) for point in inside]
            causes = [cause for point in inside if (cause := point.cause(variant))]
            ordered = sorted(dict.fromkeys(causes), key=lambda cause: -causes.count(cause))
            made.append(
                RegionError(
                    region, variant, len(inside), sum(errors) / len(errors), sum(map(abs, errors)) / len(errors),
                    max(errors, key=abs), tuple(ordered),
                )
            )  # fmt: skip
    return made
