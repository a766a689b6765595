"""The hierarchical model as a predictor: eq. (3), with #op and #x declared and the machine measured.

Of the NAS kernels, and of HPL, SUMMA and the scalar product with #op, #x and beta(q, p) of the paper's table.

l_c: what one core sustains, in a run of the kernel's smallest class on one core, as the paper has it from DGEMM.  b_cl:
a large message between two nodes.  beta(q, p): how much of it all p nodes get when each sends to the next at once; a
message from a node to itself tells whether the ranks of a node use the network among themselves.  With --memory-bus
the node's bandwidth and the bytes per operation are those that the runs are told; without it memory never limits, and
#b has no part in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.catalog import Problem, app, problem
from apps.netprobe.measure import Exchange, Plan
from apps.record import RunRecord
from apps.spec import Target
from predictor.base import Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.hierarchical.kernels import KERNELS, Kernel
from predictor.hierarchical.model import node_time_s
from predictor.hierarchical.table_kernels import TABLE_KERNELS, TableKernel
from predictor.targets import requests_in_range

_SHORTEST_S = 1e-30  # no operation or message is shorter; rounding may leave nothing
_LARGE_BYTES = 4_000_000  # long against latencies
_USES_NETWORK = 0.5  # a message to oneself that takes this share of one to another node is not copied in memory
_LEFT_OUT = 0.05  # of the prediction; what may be lost beyond is worth a caution


_CHARGED = "the paper's table charges for an exchange between the cores of a node, as if each sent a whole node's share"


@dataclass(frozen=True)
class Shape:
    """q ranks on each of p equal nodes."""

    hosts: tuple[str, ...]  # of the nodes, in the order of the ranks
    q: int

    @property
    def p(self) -> int:
        return len(self.hosts)


def shape(target: Target) -> Shape:
    """Raises OutOfRange for what is not q ranks, each with a core of its own, on each of p equal nodes of a cluster."""
    where = f"hierarchical, {target.problem} on {target.platform.name}"
    hosts = tuple(dict.fromkeys(target.placement))
    counts = {target.placement.count(host) for host in hosts}
    problem_text = None
    if len({target.platform.cluster_of(host).name for host in hosts}) > 1:
        problem_text = "the nodes are in several clusters, but the model's are equal and on one network"
    elif len({(target.platform.host(host).speed_flops, target.platform.host(host).cores) for host in hosts}) > 1:
        problem_text = "the model's nodes are equal"
    elif len(counts) > 1:
        problem_text = "the nodes have different numbers of ranks"
    elif max(counts) > target.platform.host(hosts[0]).cores:
        problem_text = "there are more ranks on a node than cores"
    if problem_text is not None:
        raise OutOfRange(where, problem_text, "Use another predictor, such as dpgraph")
    return Shape(hosts, counts.pop())


_DECLARED: Mapping[str, Kernel | TableKernel] = {**KERNELS, **TABLE_KERNELS}


def kernel_of(asked: Problem) -> Kernel | TableKernel:
    """Raises OutOfRange for a program whose #op and #x are not declared."""
    if asked.program is not None or asked.app not in _DECLARED:
        remedy = f"Use another predictor; declared are {', '.join(_DECLARED)}"
        raise OutOfRange(f"hierarchical, {asked}", "nobody has declared its operations and exchanged bytes", remedy)
    return _DECLARED[asked.app]


def core_probe(target: Target) -> Target:
    """The kernel's smallest class (the next one where that is asked about) on one core, as many iterations.

    Of a kernel of free sizes an eighth of the size.
    """
    asked, size_parameter = target.problem, app(target.problem.app).size_parameter
    if asked.size is not None and size_parameter is not None:
        params = {**dict(asked.params), size_parameter: asked.size // 8 or asked.size + 1}
        if "grid_rows" in params:
            params["grid_rows"] = 1  # there is one rank
        return Target(Problem(asked.app, tuple(params.items())), target.platform, target.placement[:1])
    smallest, second = list(app(asked.app).classes)[:2]
    found = problem(asked.app, smallest if asked.preset != smallest else second)
    iterations = app(asked.app).iterations_parameter
    if iterations is not None:
        params = {**dict(found.params), iterations: dict(asked.params)[iterations]}
        found = Problem(found.app, tuple(params.items()), None)
    return Target(found, target.platform, target.placement[:1])


def network_plan(target: Target, of: Shape) -> Plan | None:
    """A large message between two nodes, one of a byte, one to oneself, and a large one from every node to the next."""
    here = of.hosts[0]
    to_itself = (Exchange(here, here, _LARGE_BYTES, 1),)
    if of.p == 1:
        return Plan(target.platform, (to_itself,)) if of.q > 1 else None
    ring = zip(of.hosts, of.hosts[1:] + of.hosts[:1], strict=True)
    there = of.hosts[1]
    return Plan(
        target.platform,
        (
            to_itself,
            (Exchange(here, there, _LARGE_BYTES, 1),),
            (Exchange(here, there, 1, 1),),
            tuple(Exchange(a, b, _LARGE_BYTES, 1) for a, b in ring),
        ),
    )


@dataclass(frozen=True)
class Network:
    """What the messages have told."""

    bandwidth_Bps: float  # b_cl
    beta: float  # of p nodes, 1 to p
    latency_s: float
    inside: bool  # messages between the ranks of a node use its network too


def read_network(evidence: Evidence, p: int) -> Network:
    """From the answer to network_plan."""
    times_s = [max(one) for one in evidence.measurement.times_s]
    if p == 1:
        return Network(_LARGE_BYTES / times_s[0], 1.0, 0.0, inside=True)
    itself_s, alone_s, smallest_s, together_s = times_s
    return Network(
        bandwidth_Bps=_LARGE_BYTES / max(alone_s - smallest_s, _SHORTEST_S),
        beta=min(float(p), p * max(alone_s - smallest_s, _SHORTEST_S) / max(together_s - smallest_s, _SHORTEST_S)),
        latency_s=smallest_s / 2,
        inside=itself_s > _USES_NETWORK * alone_s,
    )


def memory_time_s(record: RunRecord, target: Target) -> float:
    """s per operation of the target on one core that its node's memory takes; 0 without a memory bus."""
    bus = record.identity.get("memory_bus")
    if bus is None:
        return 0.0
    if isinstance(bus, str):
        bus = target.platform.host(target.placement[0]).memory_Bps
    return float(record.identity["bytes_per_flop"] / bus)


@dataclass(frozen=True)
class HierarchicalModel:
    """Answers to all requests."""

    answers: Mapping[EvidenceRequest, Evidence]

    def predict(self, target: Target) -> Prediction:
        """Eq. (3).  Raises OutOfRange for other programs and for placements that are not p nodes of q ranks."""
        kernel, of, params = kernel_of(target.problem), shape(target), dict(target.problem.params)
        rate = self.answers[EvidenceRequest("run", core_probe(target))]
        evidence = [rate]
        core_s = max(rate.record.compute_s) / rate.record.flops  # 1 / l_c, and the core's own bytes
        memory_s = memory_time_s(rate.record, core_probe(target))
        op = kernel.operations(params) / of.p
        # Eq. (1): cores share a node's operations, and what they move, here in seconds of the bus, is moved by one bus.
        compute_s = node_time_s(op, op * memory_s, of.q, 1 / max(core_s - memory_s, _SHORTEST_S), 1.0)
        plan, comm_s = network_plan(target, of), 0.0
        flags: tuple[str, ...] = ()
        if plan is not None:
            evidence.append(self.answers[EvidenceRequest("exchange", target, plan=plan)])
            network = read_network(evidence[-1], of.p)
            parts = of.q * of.p if network.inside else of.p
            comm_s = kernel.exchange_s(
                params, of.q, of.p,
                bandwidth_Bps=network.bandwidth_Bps, beta=network.beta, inside=network.inside,
            )  # fmt: skip
            left_out_s = {
                "latency": kernel.messages(params, parts) * network.latency_s,
                "waiting for ranks whose turn it is": kernel.waiting(params, of.q * of.p) * compute_s,
            }
            flags = _flags(left_out_s, compute_s + comm_s, network, of)
            if isinstance(kernel, TableKernel) and of.q > 1:
                flags += (_CHARGED,)
        return Prediction(
            time_s=compute_s + comm_s,
            parts={"compute_s": compute_s, "comm_s": comm_s},
            flags=flags,
            evidence=tuple(one.id for one in evidence),
            cost=sum((one.cost for one in evidence), Cost()),
        )


def _flags(left_out_s: Mapping[str, float], time_s: float, network: Network, of: Shape) -> tuple[str, ...]:
    found = [
        f"{what}, which the model leaves out, may be {100 * lost_s / (time_s + lost_s):.0f} % of the time"
        for what, lost_s in left_out_s.items()
        if lost_s > _LEFT_OUT * time_s
    ]
    if of.q > 1 and not network.inside:
        found.append(f"the {of.q} ranks of a node are taken for a compact part of the problem")
    return tuple(found)


@dataclass(frozen=True)
class HierarchicalPredictor:
    """The predictor."""

    name: str

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """The probes of all targets that are in range; for the others none."""
        return requests_in_range(_requests, targets)

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        return []

    def fit(self, evidence: Sequence[Evidence]) -> HierarchicalModel:
        return HierarchicalModel({one.request: one for one in evidence})


def _requests(target: Target) -> list[EvidenceRequest]:
    """Raises OutOfRange as ``HierarchicalModel.predict`` does."""
    kernel_of(target.problem)
    plan = network_plan(target, shape(target))
    probe = EvidenceRequest("run", core_probe(target))
    return [probe] if plan is None else [probe, EvidenceRequest("exchange", target, plan=plan)]


HIERARCHICAL = HierarchicalPredictor("hierarchical")
