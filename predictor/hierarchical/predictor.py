"""The hierarchical model as a predictor: eq. (3), with counted operations, bytes and messages, and a measured machine.

``hierarchical`` counts from the declarations of the kernels (predictor/hierarchical/counts), and from a recording for
every other program.  ``hierarchical-table`` predicts HPL, SUMMA and the scalar product with #op, #x and beta(q, p) of
the paper's table, to compare.

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
from predictor.base import Cost, Evidence, EvidenceRequest, OutOfRange, Prediction
from predictor.evidence.targets import requests_in_range
from predictor.hierarchical.counts.declared import COUNTED
from predictor.hierarchical.counts.path import Path, Speeds
from predictor.hierarchical.kernels import KERNELS
from predictor.hierarchical.model import node_time_s
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
from predictor.hierarchical.table_kernels import TABLE_KERNELS

_TABLE = "hierarchical-table"
_CHARGED = "the paper's table counts exchanges between the cores of a node, as if each core sent a whole node's share"
# Declared, but recorded all the same: its halos along the three axes overlap, and steps one after another take longer.
_RECORDED = ("himeno",)
_RING = {"hpl": "ring", "summa": "binomial"}  # the broadcasts that are counted


def is_recorded(asked: Problem) -> bool:
    """Return whether a problem's messages are counted in a recording, because no declaration has them as they are."""
    return asked.program is not None or not (asked.name in COUNTED or asked.name in KERNELS or _by_steps(asked))


def _by_steps(asked: Problem) -> bool:
    """Return whether a problem's messages are counted in its declared steps."""
    return declares(asked) and asked.name not in _RECORDED


def _check_range(target: Target, name: str) -> None:
    """Raise OutOfRange if the model does not describe the target."""
    where, asked = f"{name}, {target.problem}", target.problem
    if name == _TABLE and (asked.program is not None or asked.name not in TABLE_KERNELS):
        problem = "it is no program of the paper's table"
        raise OutOfRange(where, problem, f"Use hierarchical; the table has {', '.join(TABLE_KERNELS)}")
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
    if asked.name in COUNTED:
        return COUNTED[asked.name].path(params, of.q, of.p, bytes_per_operation=per_operation)
    if _by_steps(asked):
        # Imported here for a quick start: it is slow to import.
        from predictor.hierarchical.counts.steps import traffic_path

        number = {host: i for i, host in enumerate(of.hosts)}
        node = [number[host] for host in target.placement]
        return traffic_path(traffic(asked, target.nranks), target.iterations, node, per_operation)
    kernel = KERNELS[asked.name]
    op, moved, messages = kernel.operations(params), kernel.exchanged_bytes(params, of.p), kernel.messages(params, of.p)
    own = Path(op / (of.q * of.p), per_operation * op / of.p, moved / of.p, messages=messages)
    if of.q == 1:
        return own
    # Where messages inside a node go over its link, each of its ranks has a part of its own.
    inside = kernel.exchanged_bytes(params, of.q * of.p) - moved
    return own + Path(inside_bytes=inside / of.p, inside_messages=kernel.messages(params, of.q * of.p) - messages)


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
        found = {one.request.kind: one for one in evidence}
        rate, exchange = found.get("run"), found.get("exchange")
        network = None if exchange is None else read_network(exchange, of.p)
        on = speeds(rate, None if rate is None else core_probe(target), network, of.p)
        if self.name == _TABLE:
            compute_s, comm_s = _by_table(target, of, rate, exchange)
        elif rate is None:
            compute_s, comm_s = _by_recording(target, found["recording"], on)
        else:
            path = counted_path(target, of, bytes_per_operation(rate.record, core_probe(target), target))
            compute_s, comm_s = path.compute_s(on) + path.memory_s(on), path.exchange_s(on)
        return Prediction(
            time_s=compute_s + comm_s,
            parts={"compute_s": compute_s, "comm_s": comm_s},
            flags=(*_flags(target, of, self.name, inside=on.inside_is_network), *_left_out(found)),
            remarks=found["recording"].recording.remarks if "recording" in found else (),
            evidence=tuple(one.id for one in evidence),
            cost=sum((one.cost for one in evidence), Cost()),
        )


def _by_table(target: Target, of: Shape, rate: Evidence | None, exchange: Evidence | None) -> tuple[float, float]:
    """Return the times of computation and exchange by the paper's table, s."""
    assert rate is not None
    kernel, params = TABLE_KERNELS[target.problem.name], dict(target.problem.params)
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
    # Imported here for a quick start: it is slow to import.
    from predictor.hierarchical.counts.recorded import recorded_path

    times = recorded_path(recorded.recording, target, on)
    return times.compute_s, times.chain_s + times.bytes_s - times.compute_s


def _left_out(found: Mapping[str, Evidence]) -> Sequence[str]:
    if "recording" not in found:
        return ()
    # Imported here for a quick start: it is slow to import.
    from predictor.dpgraph.left_out import left_out

    return left_out([found["recording"].recording])


def _flags(target: Target, of: Shape, name: str, *, inside: bool) -> tuple[str, ...]:
    asked, params, found = target.problem, dict(target.problem.params), []
    if name == _TABLE:
        return (_CHARGED,) if of.q > 1 else ()
    in_order = target.placement == tuple(host for host in of.hosts for _ in range(of.q))
    if asked.program is None and asked.name in COUNTED and not in_order:
        found.append("the ranks are counted as if they were placed node after node")
    if asked.program is None and asked.name in _RING and params["broadcast"] != _RING[asked.name]:
        found.append(f"the broadcast is counted as {_RING[asked.name]}")
    if asked.program is None and asked.name == "hpl" and int(params["depth"]):
        found.append("the look-ahead, which saves time, is left out")
    if asked.program is None and asked.name == "is" and of.q > 1 and not inside:
        found.append(f"the {of.q} ranks of a node are assumed to hold a compact part of the problem")
    return tuple(found)


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
        return HierarchicalModel(self.name, {one.request: one for one in evidence})


def _requests(target: Target, name: str) -> list[EvidenceRequest]:
    """Return the requests for one target; raise OutOfRange as ``HierarchicalModel.predict`` does."""
    _check_range(target, name)
    plan = network_plan(target, shape(target))
    if name != _TABLE and is_recorded(target.problem):
        # Imported here for a quick start: it is slow to import.
        from predictor.dpgraph.predictors import iterations_to_record

        first = EvidenceRequest("recording", target, iterations=iterations_to_record(target))
    else:
        first = EvidenceRequest("run", core_probe(target))
    return [first] if plan is None else [first, EvidenceRequest("exchange", target, plan=plan)]


HIERARCHICAL = HierarchicalPredictor("hierarchical")
HIERARCHICAL_TABLE = HierarchicalPredictor(_TABLE)
