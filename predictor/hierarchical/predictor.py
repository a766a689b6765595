"""The hierarchical model as a predictor: eq. (3), with declared #op and #x and a measured machine.

It predicts the NAS kernels, and HPL, SUMMA and the scalar product with #op, #x and beta(q, p) of the paper's table.

l_c is the speed that one core sustains in a run of the kernel's smallest class on one core; the paper measures it with
DGEMM.  b_cl is measured by a large message between two nodes.  beta(q, p) is the multiple of b_cl that all p nodes get
when each sends to the next at the same time.  A message from a node to itself shows whether ranks of one node
communicate over the network.  With --memory-bus, the node's bandwidth and the bytes per operation are those of the
runs; without it memory never limits, and #b has no effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.probes.network.measure import Exchange, NetworkPlan
from apps.programs.kernel import named_kernel
from apps.programs.problem import Problem, problem
from apps.results.record import RunRecord
from apps.spec.target import Target
from predictor.base import Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.evidence.targets import requests_in_range
from predictor.hierarchical.kernels import KERNELS, Kernel
from predictor.hierarchical.model import node_time_s
from predictor.hierarchical.table_kernels import TABLE_KERNELS, TableKernel

_SHORTEST_S = 1e-30  # lower limit of the times of operations and messages, which rounding may make 0
_LARGE_BYTES = 4_000_000  # takes long compared with latencies
_USES_NETWORK = 0.5  # a message to oneself that takes more than this share of one to another node uses the network
_LEFT_OUT = 0.05  # share of the prediction; larger contributions that the model leaves out cause a caution


_CHARGED = "the paper's table counts exchanges between the cores of a node, as if each core sent a whole node's share"


@dataclass(frozen=True)
class Shape:
    """A placement of q ranks on each of p equal nodes."""

    hosts: tuple[str, ...]  # of the nodes, in the order of the ranks
    q: int

    @property
    def p(self) -> int:
        """Number of nodes."""
        return len(self.hosts)


def shape(target: Target) -> Shape:
    """Return the shape of the target's placement.

    Raises:
        OutOfRange: The placement is not q ranks, each with its own core, on each of p equal nodes of one cluster.
    """
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
    """Return the declared quantities of the problem's program.

    Raises:
        OutOfRange: The program has no declared #op and #x.
    """
    if asked.program is not None or asked.name not in _DECLARED:
        remedy = f"Use another predictor; declared are {', '.join(_DECLARED)}"
        raise OutOfRange(f"hierarchical, {asked}", "its operations and exchanged bytes are not declared", remedy)
    return _DECLARED[asked.name]


def core_probe(target: Target) -> Target:
    """Return the probe on one core: the kernel's smallest class with the target's number of iterations.

    If the target has the smallest class itself, the probe has the next one.  For a kernel of free sizes the probe has
    an eighth of the size.
    """
    asked, size_parameter = target.problem, named_kernel(target.problem.name).size_parameter
    if asked.size is not None and size_parameter is not None:
        params = {**dict(asked.params), size_parameter: asked.size // 8 or asked.size + 1}
        if "grid_rows" in params:
            params["grid_rows"] = 1  # the probe has one rank
        return Target(Problem(asked.name, tuple(params.items())), target.platform, target.placement[:1])
    smallest, second = list(named_kernel(asked.name).classes)[:2]
    found = problem(asked.name, smallest if asked.preset != smallest else second)
    iterations = named_kernel(asked.name).iterations_parameter
    if iterations is not None:
        params = {**dict(found.params), iterations: dict(asked.params)[iterations]}
        found = Problem(found.name, tuple(params.items()), None)
    return Target(found, target.platform, target.placement[:1])


def network_plan(target: Target, of: Shape) -> NetworkPlan | None:
    """Return the messages to measure; None for one rank.

    They are a large message of a node to itself, a large message and one of a byte between two nodes, and a large
    message from every node to the next at the same time; on one node only the first.
    """
    here = of.hosts[0]
    to_itself = (Exchange(here, here, _LARGE_BYTES, 1),)
    if of.p == 1:
        return NetworkPlan(target.platform, (to_itself,)) if of.q > 1 else None
    ring = zip(of.hosts, of.hosts[1:] + of.hosts[:1], strict=True)
    there = of.hosts[1]
    return NetworkPlan(
        target.platform,
        (
            to_itself,
            (Exchange(here, there, _LARGE_BYTES, 1),),
            (Exchange(here, there, 1, 1),),
            tuple(Exchange(a, b, _LARGE_BYTES, 1) for a, b in ring),
        ),
    )


@dataclass(frozen=True)
class ClusterNetwork:
    """Properties of the network, from the measured messages."""

    bandwidth_Bps: float  # b_cl
    beta: float  # beta of p nodes, 1 to p
    latency_s: float
    inside: bool  # messages between ranks of one node use the network


def read_network(evidence: Evidence, p: int) -> ClusterNetwork:
    """Return the network's properties from the measured messages of ``network_plan``."""
    times_s = [max(one) for one in evidence.measurement.times_s]
    if p == 1:
        return ClusterNetwork(_LARGE_BYTES / times_s[0], 1.0, 0.0, inside=True)
    itself_s, alone_s, smallest_s, together_s = times_s
    return ClusterNetwork(
        bandwidth_Bps=_LARGE_BYTES / max(alone_s - smallest_s, _SHORTEST_S),
        beta=min(float(p), p * max(alone_s - smallest_s, _SHORTEST_S) / max(together_s - smallest_s, _SHORTEST_S)),
        latency_s=smallest_s / 2,
        inside=itself_s > _USES_NETWORK * alone_s,
    )


def memory_time_s(record: RunRecord, target: Target) -> float:
    """Return the time of the node's memory per operation of the target on one core, s; 0 without a memory bus."""
    bus = record.identity.get("memory_bus")
    if bus is None:
        return 0.0
    if isinstance(bus, str):
        bus = target.platform.host(target.placement[0]).memory_Bps
    return float(record.identity["bytes_per_flop"] / bus)


@dataclass(frozen=True)
class HierarchicalModel:
    """The measured probes and messages."""

    answers: Mapping[EvidenceRequest, Evidence]

    def predict(self, target: Target) -> Prediction:
        """Predict by eq. (3).

        Raises:
            OutOfRange: The program has no declared quantities, or the placement is not q ranks on each of p nodes.
        """
        kernel, of, params = kernel_of(target.problem), shape(target), dict(target.problem.params)
        rate = self.answers[EvidenceRequest("run", core_probe(target))]
        evidence = [rate]
        core_s = max(rate.record.compute_s) / rate.record.flops  # 1 / l_c plus memory_s
        memory_s = memory_time_s(rate.record, core_probe(target))
        op = kernel.operations(params) / of.p
        # Eq. (1): the cores share a node's operations, and one bus moves all their bytes, given here in seconds.
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


def _flags(left_out_s: Mapping[str, float], time_s: float, network: ClusterNetwork, of: Shape) -> tuple[str, ...]:
    found = [
        f"{what}, which the model leaves out, may be {100 * lost_s / (time_s + lost_s):.0f} % of the time"
        for what, lost_s in left_out_s.items()
        if lost_s > _LEFT_OUT * time_s
    ]
    if of.q > 1 and not network.inside:
        found.append(f"the {of.q} ranks of a node are assumed to hold a compact part of the problem")
    return tuple(found)


@dataclass(frozen=True)
class HierarchicalPredictor:
    """The hierarchical model as a predictor."""

    name: str

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return requests for the probes and messages of all targets in range."""
        return requests_in_range(_requests, targets)

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Return no requests: the probes and messages are enough."""
        return []

    def fit(self, evidence: Sequence[Evidence]) -> HierarchicalModel:
        """Return a model that holds the probes and messages."""
        return HierarchicalModel({one.request: one for one in evidence})


def _requests(target: Target) -> list[EvidenceRequest]:
    """Return the requests for one target; raise OutOfRange as ``HierarchicalModel.predict`` does."""
    kernel_of(target.problem)
    plan = network_plan(target, shape(target))
    probe = EvidenceRequest("run", core_probe(target))
    return [probe] if plan is None else [probe, EvidenceRequest("exchange", target, plan=plan)]


HIERARCHICAL = HierarchicalPredictor("hierarchical")
