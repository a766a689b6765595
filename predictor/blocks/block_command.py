"""``python -m predictor.blocks block``: time, power, energy and success of one block."""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from platforms.errors import UserError, nearest
from predictor.base import OutOfRange

if TYPE_CHECKING:  # NumPy takes its time
    from predictor.blocks.model import BlockModel

COMPUTE = "compute"
_DISKS = ("disk_read", "disk_write")
_MOST = 2**31 - 1  # processes and threads: MPI counts them in an int
_NEEDS = {COMPUTE: "operations", "barrier": None}  # of others: size
_UNITS = {"size": "BYTES", "operations": "H"}


@dataclass(frozen=True)
class BlockAnswer:
    """What a model says of one block; None where it does not know."""

    time_s: float
    nodes: int  # that take part
    node_power_w: float | None  # of each of them
    success: float | None  # that none of them fails meanwhile
    unknown: tuple[str, ...]  # why something is not known

    @property
    def energy_j(self) -> float | None:
        """Of the nodes that take part, while the block lasts."""
        return None if self.node_power_w is None else self.node_power_w * self.nodes * self.time_s


def answer(
    model: BlockModel,
    block: str,
    *,
    size_bytes: float = 0.0,
    operations: float = 0.0,
    processes: int = 1,
    threads: int = 1,
) -> BlockAnswer:
    """The model's answer for a block that each of ``processes`` nodes takes part in, with so many active threads.

    ``block``: "compute" or one of predictor.blocks.model.COMMUNICATION.  Raises OutOfRange where the model does not
    know the block's time, UserError for one too long for a number; power and success that it does not know are None.
    """
    import numpy as np

    from predictor.blocks.published.formulas import success

    with np.errstate(over="ignore", invalid="ignore"):  # said below
        if block == COMPUTE:
            time_s = float(model.compute_s(operations, threads))
        else:
            time_s = float(model.communication_s(block, size_bytes, processes))
    unknown = []
    node_power_w: float | None = None
    try:
        node_power_w = float(model.power_w(threads))
    except OutOfRange as err:
        unknown.append(f"{err.where}: {err.problem}")
    rate = model.failure_rate_per_s
    if rate is None:
        unknown.append(f"model {model.name}: it has no failure rate")
    found = BlockAnswer(
        time_s,
        processes,
        node_power_w,
        None if rate is None else float(success(time_s, processes, rate)),
        tuple(unknown),
    )
    for what, value in (("time", found.time_s), ("energy", found.energy_j)):
        if value is not None and not math.isfinite(value):
            option = "operations" if block == COMPUTE else "size"
            raise UserError(f"block {block}", f"its {what} is too large for a number", f"Give a smaller --{option}")
    return found


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    from predictor.blocks.model import COMMUNICATION
    from predictor.blocks.published.formulas import POWER_LAWS
    from predictor.blocks.published.parameters import CLUSTERS

    parser = subparsers.add_parser(
        "block",
        help="time, power, energy and success of one block",
        description="Time of one block by a model's formulas, power and energy of the nodes that take part, and the "
        "probability that none of them fails meanwhile (docs/blocks/formulas.md).",
    )
    parser.add_argument(
        "--model", default="galera+", metavar="NAME|FILE",
        help=f"{', '.join(CLUSTERS)}, or a file of the command calibrate (default: galera+)",
    )  # fmt: skip
    parser.add_argument("--block", required=True, metavar="BLOCK", help=f"{COMPUTE}, {', '.join(COMMUNICATION)}")
    parser.add_argument(
        "--size", type=float, metavar="BYTES",
        help="of a communication block: the message or file block; of scatter and gather the root's whole buffer; of "
        "alltoall what each process sends to each",
    )  # fmt: skip
    parser.add_argument("--operations", type=float, metavar="H", help="of a computation block: of each thread")
    parser.add_argument(
        "--processes", type=int, metavar="P",
        help="nodes that take part, a process on each (default: 1 for compute, 2 for collectives; p2p is between 2, a "
        "disk block of 1)",
    )  # fmt: skip
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="active on each node (default: 1)")
    parser.add_argument(
        "--power-law", metavar="LAW",
        help=f"of a published model: {' or '.join(POWER_LAWS)} (default: {POWER_LAWS[0]}: never less for more threads, "
        "never above the maximum)",
    )  # fmt: skip
    parser.add_argument(
        "--shapes", metavar="FAMILY",
        help="of a calibration file: simgrid, the shapes of the algorithms, or paper, Table 1 (default: simgrid)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints the answer; the exit status.  Raises UserError for what does not fit."""
    from predictor.blocks.by_name import block_model

    _check(args)
    model = block_model(args.model, power_law=args.power_law, family=args.shapes)
    processes = _default_processes(args.block) if args.processes is None else args.processes
    found = answer(
        model, args.block,
        size_bytes=args.size or 0.0, operations=args.operations or 0.0, processes=processes, threads=args.threads,
    )  # fmt: skip
    print(json.dumps(_to_json(args, model, found)) if args.json else _text(args, model, found))
    return 0


def _default_processes(block: str) -> int:
    return 1 if block in (COMPUTE, *_DISKS) else 2


def _check(args: argparse.Namespace) -> None:
    from predictor.blocks.model import COMMUNICATION

    if args.block not in (COMPUTE, *COMMUNICATION):
        raise UserError(f"--block {args.block}", "no such block", nearest(args.block, (COMPUTE, *COMMUNICATION)))
    needs = _NEEDS.get(args.block, "size")
    for name in ("size", "operations"):
        given = getattr(args, name)
        if name == needs and given is None:
            raise UserError(f"--block {args.block}", f"--{name} is not given", f"Give --{name} {_UNITS[name]}")
        if name != needs and given is not None:
            raise UserError(f"--{name} {given:g}", f"block {args.block} has none", "Leave it out")
    for option, count in (("--processes", args.processes), ("--threads", args.threads)):
        if count is not None and count < 1:
            raise UserError(f"{option} {count}", "below one", "Give 1 or more")
        if count is not None and count > _MOST:
            raise UserError(f"{option} {count}", "more than MPI can count", f"Give at most {_MOST}")
    if args.block == "p2p" and args.processes not in (None, 2):
        raise UserError(f"--processes {args.processes}", "a p2p block is between two", "Leave it out")
    if args.block in _DISKS and args.processes not in (None, 1):
        problem = "a disk block is of one process, and Table 1 says nothing of several on one disk"
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
        "node_power_w": found.node_power_w,
        "energy_j": found.energy_j,
        "success": found.success,
        "unknown": list(found.unknown),
        "cautions": _cautions(model, args.block),
    }


def _text(args: argparse.Namespace, model: BlockModel, found: BlockAnswer) -> str:
    nodes = "1 node" if found.nodes == 1 else f"{found.nodes} nodes"
    threads = "1 active thread" if args.threads == 1 else f"{args.threads} active threads"
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
    """What is doubtful about the block's parameters, where the model says so."""
    cautions = getattr(model, "cautions", {})
    return [cautions[block]] if block in cautions else []
