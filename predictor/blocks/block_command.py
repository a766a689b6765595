"""Command ``python -m predictor.blocks block``: time, power, energy and probability of success of one block."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from platforms.errors import UserError, nearest
from predictor.base import OutOfRange
from predictor.blocks.names import COMMUNICATION, POWER_LAWS, POWER_RULES
from predictor.blocks.options import add_power_argument
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
    found = BlockAnswer(
        time_s=time_s,
        nodes=processes,
        node_power_w=node_power_w,
        success=None if rate is None else float(success(time_s, processes, rate)),
        unknown=tuple(unknown),
    )
    for what, value in (("time", found.time_s), ("energy", found.energy_j)):
        if value is not None and not math.isfinite(value):
            option = "operations" if block == COMPUTE else "size"
            raise UserError(f"block {block}", f"its {what} is too large", f"Give a smaller --{option}")
    return found


def active_threads(block: str, threads: int, power: str) -> int:
    """Return the threads of a node that take power during a block, by a power rule."""
    return threads if block == COMPUTE or power != "idle-waiting" else 0


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the sub-command ``block``."""
    parser = subparsers.add_parser(
        "block",
        help="time, power, energy and success of one block",
        description="Time of one block by a model's formulas, power and energy of the nodes that take part, and the "
        "probability that none of them fails meanwhile (docs/blocks/formulas.md).",
    )
    parser.add_argument(
        "--model", default="galera+", metavar="NAME|FILE",
        help=f"{', '.join(CLUSTERS)}, or a calibration file (default: galera+)",
    )  # fmt: skip
    parser.add_argument("--block", required=True, metavar="BLOCK", help=f"{COMPUTE}, {', '.join(COMMUNICATION)}")
    parser.add_argument(
        "--size", type=float, metavar="BYTES",
        help="for a communication block: size of the message or file block; for scatter and gather of the root's whole "
        "buffer; for alltoall of the part that each process sends to each other process",
    )  # fmt: skip
    parser.add_argument(
        "--operations", type=float, metavar="H", help="for a computation block: operations of each thread"
    )
    parser.add_argument(
        "--processes", type=int, metavar="P",
        help="nodes that take part, with one process on each (default: 1 for compute, 2 for collectives; always 2 for "
        "p2p and 1 for a disk block)",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="threads on each node (default: 1)")
    add_power_argument(parser)
    parser.add_argument(
        "--power-law", metavar="LAW",
        help=f"for a published model: {' or '.join(POWER_LAWS)} (default: {POWER_LAWS[0]}, which never falls with more "
        "threads and never exceeds the maximum)",
    )  # fmt: skip
    parser.add_argument(
        "--shapes", metavar="FAMILY",
        help="for a calibration file: simgrid, the shapes of the algorithms, or paper, Table 1 (default: simgrid)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the answer and return the exit status.

    Raises:
        UserError: If an option is wrong.
    """
    # Imported here for a quick start: it is slow to import.
    from predictor.blocks.by_name import block_model

    _check(args)
    model = block_model(args.model, power_law=args.power_law, family=args.shapes)
    processes = _default_processes(args.block) if args.processes is None else args.processes
    found = answer(
        model, args.block,
        size_bytes=args.size or 0.0, operations=args.operations or 0.0, processes=processes, threads=args.threads,
        power=args.power,
    )  # fmt: skip
    print(json.dumps(_to_json(args, model, found)) if args.json else _text(args, model, found))
    return 0


def _default_processes(block: str) -> int:
    return 1 if block in (COMPUTE, *_DISKS) else 2


def _check(args: argparse.Namespace) -> None:

    if args.block not in (COMPUTE, *COMMUNICATION):
        raise UserError(f"--block {args.block}", "no such block", nearest(args.block, (COMPUTE, *COMMUNICATION)))
    if args.power not in POWER_RULES:
        raise UserError(f"--power {args.power}", "no such rule", nearest(args.power, POWER_RULES))
    needs = _NEEDS.get(args.block, "size")
    for name in ("size", "operations"):
        given = getattr(args, name)
        if name == needs and given is None:
            raise UserError(f"--block {args.block}", f"--{name} is not given", f"Give --{name} {_UNITS[name]}")
        if name != needs and given is not None:
            raise UserError(f"--{name} {given:g}", f"block {args.block} does not take it", "Leave it out")
    for option, count in (("--processes", args.processes), ("--threads", args.threads)):
        if count is not None and count < 1:
            raise UserError(f"{option} {count}", "below one", "Give 1 or more")
        if count is not None and count > _MOST:
            raise UserError(f"{option} {count}", "more than MPI can count", f"Give at most {_MOST}")
    if args.block == "p2p" and args.processes not in (None, 2):
        raise UserError(f"--processes {args.processes}", "a p2p block has two processes", "Leave it out")
    if args.block in _DISKS and args.processes not in (None, 1):
        problem = "a disk block has one process; Table 1 does not cover several processes on one disk"
        raise UserError(f"--processes {args.processes}", problem, "Leave it out")


def _to_json(args: argparse.Namespace, model: BlockModel, found: BlockAnswer) -> dict[str, Any]:
    return {
        "model": model.name,
        "block": args.block,
        "size_bytes": args.size,
        "operations": args.operations,
        "nodes": found.nodes,
        "threads": args.threads,
        "time_s": found.time_s,
        "power": args.power,
        "node_power_w": found.node_power_w,
        "energy_j": found.energy_j,
        "success": found.success,
        "unknown": list(found.unknown),
        "cautions": _cautions(model, args.block),
    }


def _text(args: argparse.Namespace, model: BlockModel, found: BlockAnswer) -> str:
    nodes = "1 node" if found.nodes == 1 else f"{found.nodes} nodes"
    active = active_threads(args.block, args.threads, args.power)
    threads = "1 active thread" if active == 1 else f"{active or 'no'} active threads"
    amount = "" if args.size is None else f" {args.size:g} bytes,"
    amount = amount if args.operations is None else f" {args.operations:g} operations,"
    lines = [f"{model.name}, {args.block},{amount} {nodes}: {found.time_s:.6g} s"]
    if found.node_power_w is not None:
        lines.append(f"    {found.node_power_w:.4g} W per node with {threads}, {found.energy_j:.6g} J in all")
    rate = model.failure_rate_per_s
    if found.success is not None and rate is not None:
        failure = -math.expm1(-rate * found.time_s * found.nodes)  # 1 - s, without cancellation
        lines.append(f"    success {found.success:.10g}, failure {failure:.4g}")
    lines += [f"    not known: {reason}" for reason in found.unknown]
    lines += [f"    caution: {caution}" for caution in _cautions(model, args.block)]
    return "\n".join(lines)


def _cautions(model: BlockModel, block: str) -> list[str]:
    """Return the model's caution about the block's parameters, if there is one."""
    cautions = getattr(model, "cautions", {})
    return [cautions[block]] if block in cautions else []
