"""The measurements of a machine for the predictor: the speed of a core, the network, the memory."""

from __future__ import annotations

from dataclasses import dataclass

from apps.probes.network.measure import Exchange, NetworkPlan
from apps.programs.kernel import named_kernel
from apps.programs.problem import Problem, problem
from apps.results.record import RunRecord
from apps.spec.target import Target
from predictor.base import Evidence, OutOfRange
from predictor.hierarchical.counts.speeds import Speeds

SHORTEST_S = 1e-30  # lower limit of the times of operations and messages, which rounding may make 0
_LARGE_BYTES = 4_000_000  # takes long compared with latencies
_LEAST_EIGHTH = 16  # the smallest size of which an eighth is a size of every kernel
_USES_NETWORK = 0.5  # a message to oneself that takes more than this share of one to another node uses the network


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


def core_probe(target: Target) -> Target:
    """Return the probe on one core: the kernel's smallest class with the target's number of iterations.

    If the target has the smallest class itself, the probe has the next one.  For a kernel of free sizes the probe has
    an eighth of the size, or twice a size below 16.
    """
    asked, size_parameter = target.problem, named_kernel(target.problem.name).size_parameter
    if asked.size is not None and size_parameter is not None:
        smaller = asked.size // 8 if asked.size >= _LEAST_EIGHTH else 2 * asked.size
        params = {**dict(asked.params), size_parameter: smaller}
        if "grid_rows" in params:
            params["grid_rows"] = 1  # the probe has one rank
        return Target(Problem(asked.name, tuple(params.items())), target.platform, target.placement[:1])
    smallest, second = list(named_kernel(asked.name).classes)[:2]
    probe = problem(asked.name, smallest if asked.preset != smallest else second)
    iterations = named_kernel(asked.name).iterations_parameter
    if iterations is not None:
        params = {**dict(probe.params), iterations: dict(asked.params)[iterations]}
        probe = Problem(probe.name, tuple(params.items()), None)
    return Target(probe, target.platform, target.placement[:1])


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
    inside_Bps: float = float("inf")  # of a message between ranks of one node


def read_network(evidence: Evidence, p: int) -> ClusterNetwork:
    """Return the network's properties from the measured messages of ``network_plan``."""
    times_s = [max(time_s) for time_s in evidence.measurement.times_s]
    if p == 1:
        own_Bps = _LARGE_BYTES / times_s[0]
        return ClusterNetwork(own_Bps, 1.0, 0.0, inside=True, inside_Bps=own_Bps)
    itself_s, alone_s, smallest_s, together_s = times_s
    return ClusterNetwork(
        bandwidth_Bps=_LARGE_BYTES / max(alone_s - smallest_s, SHORTEST_S),
        beta=min(float(p), p * max(alone_s - smallest_s, SHORTEST_S) / max(together_s - smallest_s, SHORTEST_S)),
        latency_s=smallest_s / 2,
        inside=itself_s > _USES_NETWORK * alone_s,
        inside_Bps=_LARGE_BYTES / max(itself_s, SHORTEST_S),
    )


def memory_time_s(record: RunRecord, target: Target) -> float:
    """Return the time of the node's memory per operation of the probe on one core, s; 0 without a memory bus."""
    bus_Bps = memory_Bps(record, target)
    return 0.0 if bus_Bps == float("inf") else float(record.identity["bytes_per_flop"] / bus_Bps)


def memory_Bps(record: RunRecord, target: Target) -> float:
    """Return the bandwidth of a node's memory, byte/s; inf without a memory bus."""
    bus = record.identity.get("memory_bus")
    if isinstance(bus, str):
        bus = target.platform.host(target.placement[0]).memory_Bps
    return float("inf") if bus is None else float(bus)


def bytes_per_operation(record: RunRecord, probe: Target, target: Target) -> float:
    """Return the target's bytes per operation, the kernel's for its own size or those of the user; 0 without a bus."""
    if record.identity.get("memory_bus") is None:
        return 0.0
    used = float(record.identity["bytes_per_flop"])
    return float(target.problem.bytes_per_flop or used) if used == probe.problem.bytes_per_flop else used


def speeds(rate: Evidence | None, probe: Target | None, network: ClusterNetwork | None, p: int) -> Speeds:
    """Return the speeds of the machine.

    Args:
        rate: The evidence of the probe on one core; None: the program's operations take the platform's time.
        probe: The target of this probe.
        network: The measured network; None: there is one rank.
        p: Number of nodes.
    """
    core_flops, bus_Bps = float("inf"), float("inf")
    if rate is not None and probe is not None:
        core_s = max(rate.record.compute_s) / rate.record.flops  # 1 / l_c and the time of memory
        core_flops = 1 / max(core_s - memory_time_s(rate.record, probe), SHORTEST_S)
        bus_Bps = memory_Bps(rate.record, probe)
    if network is None:
        return Speeds(core_flops, bus_Bps, float("inf"), 0.0)
    return Speeds(
        core_flops=core_flops,
        memory_Bps=bus_Bps,
        network_Bps=network.bandwidth_Bps * network.beta / p,
        latency_s=network.latency_s,
        inside_Bps=network.inside_Bps,
        inside_is_network=network.inside,
    )
