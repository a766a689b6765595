"""Command ``gridval blocks block``: time, power, energy and probability of success of one block."""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass
from typing import TYPE_CHECKING, Any

from platforms.command.command import Command, Reply
from platforms.command.request import JsonOption, option
from platforms.errors import UserError, nearest
from predictor.base import OutOfRange
from predictor.blocks.names import COMMUNICATION, POWER_LAWS, POWER_RULES
from predictor.blocks.options import PowerOption
from predictor.blocks.published.parameters import CLUSTERS

if TYPE_CHECKING:  # importing NumPy is slow
    from predictor.blocks.model import BlockModel

COMPUTE = "compute"
_DISKS = ("disk_read", "disk_write")
_MOST = 2**31 - 1  # processes and threads: MPI counts them in an int
_NEEDS = {COMPUTE: "operations", "barrier": None}  # option that a block needs; all other blocks need size
_UNITS = {"size": "BYTES", "operations": "H"}


@dataclass(frozen=True)
class BlockAnswer:
    """A model's answer for one block; values that the model does not know are None."""

    time_s: float
    nodes: int  # nodes that take part
    node_power_w: float | None  # power of each of these nodes
    success: float | None  # probability that none of these nodes fails during the block
    unknown: tuple[str, ...]  # reasons why values are None

    @property
    def energy_j(self) -> float | None:
        """Energy of the nodes that take part, for the duration of the block, J."""
        return None if self.node_power_w is None else self.node_power_w * self.nodes * self.time_s


def answer(
    model: BlockModel,
    block: str,
    *,
    size_bytes: float = 0.0,
    operations: float = 0.0,
    processes: int = 1,
    threads: int = 1,
    power: str = POWER_RULES[0],
) -> BlockAnswer:
    """Return the model's answer for a block.

    Args:
        model: The block model.
        block: "compute" or a name in predictor.blocks.model.COMMUNICATION.
        size_bytes: d of Table 1, for a communication block.
        operations: Operations of each thread, for a computation block.
        processes: Number of nodes that take part, with one process on each.
        threads: Number of threads on each node that take part in the block.
        power: The power rule, one of predictor.blocks.names.POWER_RULES.  By idle-waiting, only computing threads take
            power; by the other rules, the threads of any block do.

    Raises:
        OutOfRange: If the model does not know the time of the block.
        UserError: If the time or the energy is too large for a floating-point number.
    """
    # Imported here for a quick start: they are slow to import.
    import numpy as np

    from predictor.blocks.published.formulas import success

    with np.errstate(over="ignore", invalid="ignore"):  # reported below
        if block == COMPUTE:
            time_s = float(model.compute_s(operations, threads))
        else:
            time_s = float(model.communication_s(block, size_bytes, processes))
    unknown = []
    node_power_w: float | None = None
    try:
        node_power_w = float(model.power_w(active_threads(block, threads, power)))
    except OutOfRange as err:
        unknown.append(f"{err.where}: {err.problem}")
    rate = model.failure_rate_per_s
    if rate is None:
        unknown.append(f"model {model.name}: it has no failure rate")
    block_answer = BlockAnswer(
        time_s=time_s,
        nodes=processes,
        node_power_w=node_power_w,
        success=None if rate is None else float(success(time_s, processes, rate)),
        unknown=tuple(unknown),
    )
    for what, value in (("time", block_answer.time_s), ("energy", block_answer.energy_j)):
        if value is not None and not math.isfinite(value):
            amount = "operations" if block == COMPUTE else "size"
            raise UserError(f"block {block}", f"its {what} is too large", f"Give a smaller --{amount}")
    return block_answer


def active_threads(block: str, threads: int, power: str) -> int:
    """Return the threads of a node that take power during a block, by a power rule."""
    return threads if block == COMPUTE or power != "idle-waiting" else 0


@dataclass(frozen=True, kw_only=True)
class BlockRequest(PowerOption, JsonOption):
    """One block, and the model of its costs."""

    model: str = option("galera+", "NAME|FILE", f"{', '.join(CLUSTERS)}, or a calibration file (default: galera+)")
    block: str = option(MISSING, "BLOCK", f"{COMPUTE}, {', '.join(COMMUNICATION)}")
    size: float | None = option(
        None,
        "BYTES",
        "for a communication block: size of the message or file block; for scatter and gather of the root's whole "
        "buffer; for alltoall of the part that each process sends to each other process",
    )
    operations: float | None = option(None, "H", "for a computation block: operations of each thread")
    processes: int | None = option(
        None,
        "P",
        "nodes that take part, with one process on each (default: 1 for compute, 2 for collectives; always 2 for "
        "p2p and 1 for a disk block)",
    )
    threads: int = option(1, "N", "threads on each node (default: 1)")
    power_law: str | None = option(
        None,
        "LAW",
        f"for a published model: {' or '.join(POWER_LAWS)} (default: {POWER_LAWS[0]}, which never falls with more "
        "threads and never exceeds the maximum)",
    )
    shapes: str | None = option(
        None,
        "FAMILY",
        "for a calibration file: simgrid, the shapes of the algorithms, or paper, Table 1 (default: simgrid)",
    )


def asked(request: BlockRequest) -> Reply:
    """Return the time, the power and the energy of the block.

    Raises:
        UserError: An option is wrong.
    """
    # Imported here for a quick start: it is slow to import.
    from predictor.blocks.setting import block_model

    _check(request)
    model = block_model(request.model, power_law=request.power_law, family=request.shapes)
    block_answer = answer(
        model,
        request.block,
        size_bytes=request.size or 0.0,
        operations=request.operations or 0.0,
        processes=_default_processes(request.block) if request.processes is None else request.processes,
        threads=request.threads,
        power=request.power,
    )
    return Reply(
        block_answer, lambda: _text(request, model, block_answer), lambda: _to_json(request, model, block_answer)
    )


def _default_processes(block: str) -> int:
    return 1 if block in (COMPUTE, *_DISKS) else 2


def _check(request: BlockRequest) -> None:
    if request.block not in (COMPUTE, *COMMUNICATION):
        raise UserError(f"--block {request.block}", "no such block", nearest(request.block, (COMPUTE, *COMMUNICATION)))
    if request.power not in POWER_RULES:
        raise UserError(f"--power {request.power}", "no such rule", nearest(request.power, POWER_RULES))
    needs = _NEEDS.get(request.block, "size")
    for name in ("size", "operations"):
        given = getattr(request, name)
        if name == needs and given is None:
            raise UserError(f"--block {request.block}", f"--{name} is not given", f"Give --{name} {_UNITS[name]}")
        if name != needs and given is not None:
            raise UserError(f"--{name} {given:g}", f"block {request.block} does not take it", "Leave it out")
    for name, count in (("--processes", request.processes), ("--threads", request.threads)):
        if count is not None and count < 1:
            raise UserError(f"{name} {count}", "below one", "Give 1 or more")
        if count is not None and count > _MOST:
            raise UserError(f"{name} {count}", "more than MPI can count", f"Give at most {_MOST}")
    if request.block == "p2p" and request.processes not in (None, 2):
        raise UserError(f"--processes {request.processes}", "a p2p block has two processes", "Leave it out")
    if request.block in _DISKS and request.processes not in (None, 1):
        problem = "a disk block has one process; Table 1 does not cover several processes on one disk"
        raise UserError(f"--processes {request.processes}", problem, "Leave it out")


def _to_json(request: BlockRequest, model: BlockModel, block_answer: BlockAnswer) -> dict[str, Any]:
    return {
        "model": model.name,
        "block": request.block,
        "size_bytes": request.size,
        "operations": request.operations,
        "nodes": block_answer.nodes,
        "threads": request.threads,
        "time_s": block_answer.time_s,
        "power": request.power,
        "node_power_w": block_answer.node_power_w,
        "energy_j": block_answer.energy_j,
        "success": block_answer.success,
        "unknown": list(block_answer.unknown),
        "cautions": _cautions(model, request.block),
    }


def _text(request: BlockRequest, model: BlockModel, block_answer: BlockAnswer) -> str:
    nodes = "1 node" if block_answer.nodes == 1 else f"{block_answer.nodes} nodes"
    active = active_threads(request.block, request.threads, request.power)
    threads = "1 active thread" if active == 1 else f"{active or 'no'} active threads"
    amount = "" if request.size is None else f" {request.size:g} bytes,"
    amount = amount if request.operations is None else f" {request.operations:g} operations,"
    lines = [f"{model.name}, {request.block},{amount} {nodes}: {block_answer.time_s:.6g} s"]
    if block_answer.node_power_w is not None:
        lines.append(
            f"    {block_answer.node_power_w:.4g} W per node with {threads}, {block_answer.energy_j:.6g} J in all"
        )
    rate = model.failure_rate_per_s
    if block_answer.success is not None and rate is not None:
        failure = -math.expm1(-rate * block_answer.time_s * block_answer.nodes)  # 1 - s, without cancellation
        lines.append(f"    success {block_answer.success:.10g}, failure {failure:.4g}")
    lines += [f"    not known: {reason}" for reason in block_answer.unknown]
    lines += [f"    caution: {caution}" for caution in _cautions(model, request.block)]
    return "\n".join(lines)


def _cautions(model: BlockModel, block: str) -> list[str]:
    """Return the model's caution about the block's parameters, if there is one."""
    cautions = getattr(model, "cautions", {})
    return [cautions[block]] if block in cautions else []


COMMAND = Command(
    "blocks block",
    BlockRequest,
    asked,
    "Time of one block by a model's formulas, power and energy of the nodes that take part, and the "
    "probability that none of them fails meanwhile (docs/predictors/blocks.md).",
)
main = COMMAND.main
