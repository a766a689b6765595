"""The hierarchical model as a predictor: eq. (3), with counted operations, bytes and messages, and a measured machine.

``hierarchical`` counts from the declarations of the kernels (predictor/hierarchical/counts), and from a recording for
every other program.  ``hierarchical:table`` predicts the kernels that match a program of the paper's table with
its #op, #x and beta(q, p), to compare.

l_c is the speed that one core sustains in a run of the kernel's smallest class on one core; the paper measures it with
DGEMM.  b_cl is measured by a large message between two nodes, latency by a small one.  beta(q, p) is the multiple of
b_cl that all p nodes get when each sends to the next at the same time.  A message from a node to itself shows whether
ranks of one node communicate over the network.  With --memory-bus, the node's bandwidth and the bytes per operation are
those of the runs; without it memory never limits, and #b has no effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.errors import KernelError
from apps.probes.network.measure import Exchange, NetworkPlan
from apps.programs.kernel import named_kernel
from apps.programs.problem import Problem, problem
from apps.results.record import RunRecord
from apps.spec.target import Target
from apps.traffic import check, declares, traffic
from apps.traffic.path import Path
from predictor.base import AsksOnce, Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.dpgraph.predictors import iterations_to_record
from predictor.evidence.targets import requests_in_range
from predictor.graph.left_out import left_out
from predictor.hierarchical.counts.declared import Counted, Speeds, counted, counted_names, traffic_path
from predictor.hierarchical.counts.recorded import recorded_path
from predictor.hierarchical.kernels import exchanging, exchanging_names, notes, table_kernels
from predictor.hierarchical.model import node_time_s

SHORTEST_S = 1e-30  # lower limit of the times of operations and messages, which rounding may make 0
_LARGE_BYTES = 4_000_000  # takes long compared with latencies
_LEAST_EIGHTH = 16  # the smallest size of which an eighth is a size of every kernel
_USES_NETWORK = 0.5  # a message to oneself that takes more than this share of one to another node uses the network
_TABLE = "hierarchical:table"
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


def is_recorded(asked: Problem) -> bool:
    """Return whether a problem's messages are counted in a recording, because no declaration has them as they are."""
    return not (_counted(asked) or _by_steps(asked) or _exchanges(asked))


def _counted(asked: Problem) -> Counted | None:
    """Return the declared path of a problem's kernel, if there is one."""
    return counted(asked.name) if asked.program is None and asked.name in counted_names() else None


def _by_steps(asked: Problem) -> bool:
    """Return whether a problem's messages are counted in its declared steps."""
    return declares(asked) and not notes(asked.name).recorded


def _exchanges(asked: Problem) -> bool:
    """Return whether a problem's messages are counted for whole nodes, because no path and no steps are declared."""
    exchanges = asked.program is None and asked.name in exchanging_names() and not notes(asked.name).recorded
    return exchanges and not _counted(asked) and not _by_steps(asked)


def _check_range(target: Target, name: str) -> None:
    """Raise OutOfRange if the model does not describe the target."""
    where, asked = f"{name}, {target.problem}", target.problem
    if name == _TABLE and (asked.program is not None or asked.name not in table_kernels()):
        problem = "it is no program of the paper's table"
        raise OutOfRange(where, problem, f"Use hierarchical; the table has {', '.join(table_kernels())}")
    shape(target)
    if not asked.allows(target.nranks):
        raise OutOfRange(where, f"it does not run on {target.nranks} ranks", "Choose other ranks")
    if declares(asked):
        try:
            check(asked, target.nranks)
        except KernelError as err:
            raise OutOfRange(where, err.problem, err.remedy) from err


def counted_path(target: Target, of: Shape, per_operation: float) -> Path:
    """Return the declared path of a target whose program is not recorded.

    Args:
        target: The target.
        of: Its shape.
        per_operation: Bytes between cores and memory per operation.
    """
    asked, params = target.problem, dict(target.problem.params)
    if path := _counted(asked):
        return path.path(params, of.q, of.p, bytes_per_operation=per_operation)
    if _by_steps(asked):
        number = {host: i for i, host in enumerate(of.hosts)}
        node = [number[host] for host in target.placement]
        return traffic_path(traffic(asked, target.nranks), target.iterations, node, per_operation)
    kernel = exchanging(asked.name)
    op, moved, messages = kernel.operations(params), kernel.exchanged_bytes(params, of.p), kernel.messages(params, of.p)
    rank_path = Path(op / (of.q * of.p), per_operation * op / of.p, moved / of.p, messages=messages)
    if of.q == 1:
        return rank_path
    # Where messages inside a node go over its link, each of its ranks has a part of its own.
    inside = kernel.exchanged_bytes(params, of.q * of.p) - moved
    return rank_path + Path(inside_bytes=inside / of.p, inside_messages=kernel.messages(params, of.q * of.p) - messages)


@dataclass(frozen=True)
class HierarchicalModel:
    """The measured probes and messages, and the recordings."""

    name: str
    answers: Mapping[EvidenceRequest, Evidence]

    def predict(self, target: Target) -> Prediction:
        """Predict by eq. (3).

        Raises:
            OutOfRange: The program does not fit the model, or the placement is not q ranks on each of p nodes.
        """
        _check_range(target, self.name)
        of = shape(target)
        evidence = [self.answers[request] for request in _requests(target, self.name)]
        by_kind = {item.request.kind: item for item in evidence}
        rate, exchange = by_kind.get("run"), by_kind.get("exchange")
        network = None if exchange is None else read_network(exchange, of.p)
        on = speeds(rate, None if rate is None else core_probe(target), network, of.p)
        if self.name == _TABLE:
            compute_s, comm_s = _by_table(target, of, rate, exchange)
        elif rate is None:
            compute_s, comm_s = _by_recording(target, by_kind["recording"], on)
        else:
            path = counted_path(target, of, bytes_per_operation(rate.record, core_probe(target), target))
            compute_s, comm_s = on.compute_s(path) + on.memory_s(path), on.exchange_s(path)
        return Prediction(
            time_s=compute_s + comm_s,
            parts={"compute_s": compute_s, "comm_s": comm_s},
            flags=(*_flags(target, of, self.name, inside=on.inside_is_network), *_left_out(by_kind)),
            remarks=by_kind["recording"].recording.remarks if "recording" in by_kind else (),
            evidence=tuple(item.id for item in evidence),
            cost=sum((item.cost for item in evidence), Cost()),
        )


def _by_table(target: Target, of: Shape, rate: Evidence | None, exchange: Evidence | None) -> tuple[float, float]:
    """Return the times of computation and exchange by the paper's table, s."""
    assert rate is not None
    kernel, params = table_kernels()[target.problem.name], dict(target.problem.params)
    memory_s = memory_time_s(rate.record, core_probe(target))
    core_s = max(rate.record.compute_s) / rate.record.flops - memory_s
    op = kernel.operations(params) / of.p
    # Eq. (1): the cores share a node's operations, and one bus moves all their bytes, given here in seconds.
    compute_s = float(node_time_s(op, op * memory_s, of.q, 1 / core_s, 1.0))
    if exchange is None:
        return compute_s, 0.0
    network = read_network(exchange, of.p)
    return compute_s, kernel.exchange_s(
        params, of.q, of.p, bandwidth_Bps=network.bandwidth_Bps, beta=network.beta
    )  # fmt: skip


def _by_recording(target: Target, recorded: Evidence, on: Speeds) -> tuple[float, float]:
    """Return the times of computation and of everything else, s."""
    times = recorded_path(recorded.recording, target, on)
    return times.compute_s, times.chain_s + times.bytes_s - times.compute_s


def _left_out(by_kind: Mapping[str, Evidence]) -> Sequence[str]:
    if "recording" not in by_kind:
        return ()

    return left_out([by_kind["recording"].recording])


def _flags(target: Target, of: Shape, name: str, *, inside: bool) -> tuple[str, ...]:
    asked, flags = target.problem, list[str]()
    if name == _TABLE:
        return (_CHARGED,) if of.q > 1 else ()
    in_order = target.placement == tuple(host for host in of.hosts for _ in range(of.q))
    if path := _counted(asked):
        if not in_order:
            flags.append("the ranks are counted as if they were placed node after node")
        flags += path.cautions(dict(asked.params))
    if _exchanges(asked) and of.q > 1 and not inside:
        flags.append(f"the {of.q} ranks of a node are assumed to hold a compact part of the problem")
    return tuple(flags)


@dataclass(frozen=True)
class HierarchicalPredictor(AsksOnce):
    """The hierarchical model as a predictor, with counts or with the paper's table."""

    name: str

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return requests for the probes, messages and recordings of all targets in range."""
        return requests_in_range(lambda target: _requests(target, self.name), targets)

    def fit(self, evidence: Sequence[Evidence]) -> HierarchicalModel:
        """Return a model that holds the evidence."""
        return HierarchicalModel(self.name, {item.request: item for item in evidence})


def _requests(target: Target, name: str) -> list[EvidenceRequest]:
    """Return the requests for one target; raise OutOfRange as ``HierarchicalModel.predict`` does."""
    _check_range(target, name)
    plan = network_plan(target, shape(target))
    if name != _TABLE and is_recorded(target.problem):
        first = EvidenceRequest("recording", target, iterations=iterations_to_record(target))
    else:
        first = EvidenceRequest("run", core_probe(target))
    return [first] if plan is None else [first, EvidenceRequest("exchange", target, plan=plan)]


HIERARCHICAL = HierarchicalPredictor("hierarchical")
HIERARCHICAL_TABLE = HierarchicalPredictor(_TABLE)
