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
from apps.programs.problem import Problem
from apps.spec.target import Target
from apps.traffic import check, declares, traffic
from apps.traffic.path import Path
from predictor.base import Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.dpgraph.predictors import iterations_to_record
from predictor.evidence.targets import requests_in_range
from predictor.graph.left_out import left_out
from predictor.hierarchical.counts.declared import Counted, counted, counted_names
from predictor.hierarchical.counts.recorded import recorded_path
from predictor.hierarchical.counts.speeds import Speeds
from predictor.hierarchical.counts.steps import traffic_path
from predictor.hierarchical.kernels import exchanging, exchanging_names
from predictor.hierarchical.model import node_time_s
from predictor.hierarchical.notes import notes
from predictor.hierarchical.probes import (
    Shape,
    bytes_per_operation,
    core_probe,
    memory_time_s,
    network_plan,
    read_network,
    shape,
    speeds,
)
from predictor.hierarchical.table_kernels import table_kernels

_TABLE = "hierarchical:table"
_CHARGED = "the paper's table counts exchanges between the cores of a node, as if each core sent a whole node's share"


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
class HierarchicalPredictor:
    """The hierarchical model as a predictor, with counts or with the paper's table."""

    name: str

    def requests(self, targets: Sequence[Target]) -> list[EvidenceRequest]:
        """Return requests for the probes, messages and recordings of all targets in range."""
        return requests_in_range(lambda target: _requests(target, self.name), targets)

    def further(self, targets: Sequence[Target], evidence: Sequence[Evidence]) -> list[EvidenceRequest]:
        """Return no requests: the first ones are enough."""
        return []

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
