"""Ranks that share the cores of a host: SimGrid shares CPUs max-min fairly, as it shares links.

On a host with more ranks than cores, each computation becomes a message of the rank to itself.  Its amount is the
flops, and its only link is the host.  The capacity of that link is the speed of all cores, and no computation gets more
than the speed of one core.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from predictor.dpgraph.instructions import (
    BACK,
    COMPUTE,
    MARK,
    MESSAGE,
    POLL,
    SEND,
    SLEEP,
    WAIT_RECEIVED,
    Instructions,
    Loop,
    Messages,
    Paths,
    may_repeat,
)


def share_cores(
    instructions: Instructions,
    messages: Messages,
    paths: Paths,
    *,
    placement: Sequence[str],
    s_per_flop: Sequence[float] | np.ndarray,
    cores: Sequence[int],
    loop: Loop | None = None,
) -> tuple[Instructions, Messages, Paths, Loop | None]:
    """Return the program with computations as flows on hosts with more ranks than cores.

    Args:
        instructions: The instructions of all ranks.
        messages: The messages of the program.
        paths: The network between the hosts.
        placement: The host of each rank.
        s_per_flop: Seconds per flop of each rank.
        cores: Number of cores of each rank's host.
        loop: The instructions that are repeated.
    """
    ranks_of = Counter(placement)
    crowded = [ranks_of[host] > count for host, count in zip(placement, cores, strict=True)]
    if not any(crowded):
        return instructions, messages, paths, loop
    rank = np.repeat(np.arange(len(placement)), np.diff(instructions.first))
    shared = (
        (instructions.code == COMPUTE) & np.array(crowded)[rank] & ~may_repeat(instructions.code, instructions.argument)
    )
    hosts = {host: i for i, host in enumerate(dict.fromkeys(h for h, c in zip(placement, crowded, strict=True) if c))}
    speed = {host: 1 / s for host, s in zip(placement, s_per_flop, strict=True)}
    total = {host: speed[host] * count for host, count in zip(placement, cores, strict=True)}

    works = np.zeros(np.count_nonzero(shared), MESSAGE)
    works["amount_bytes"] = instructions.value[shared]
    works["factor"] = 1.0
    host_of = np.array([hosts.get(host, -1) for host in placement])
    works["path"] = len(paths.bound_Bps) + host_of[rank[shared]]
    instructions, messages, loop = with_flows(instructions, messages, loop, shared, works)
    private_paths = _with_links_of_their_own(paths, [speed[host] for host in hosts], [total[host] for host in hosts])
    return instructions, messages, private_paths, loop


def with_flows(
    instructions: Instructions, messages: Messages, loop: Loop | None, which: np.ndarray, flows: np.ndarray
) -> tuple[Instructions, Messages, Loop | None]:
    """Return the program with some instructions replaced by flows that their rank waits for.

    Args:
        instructions: The instructions of all ranks.
        messages: The messages of the program.
        loop: The instructions that are repeated.
        which: For each instruction, whether it becomes a flow.
        flows: A MESSAGE for each of them, which begins at once.
    """
    flows["eager"] = flows["detached"] = 1
    rank = np.repeat(np.arange(len(instructions.first) - 1), np.diff(instructions.first))
    number = np.full(len(rank), -1, np.int64)
    number[which] = len(messages.kind) + np.arange(len(flows))
    copies = np.where(which, 2, 1)  # it becomes a send and a wait
    begins = np.concatenate([[0], np.cumsum(copies)])
    code, argument, value = (np.repeat(field, copies) for field in instructions[:3])
    code[begins[:-1][which]], code[begins[:-1][which] + 1] = SEND, WAIT_RECEIVED
    argument[begins[:-1][which]] = argument[begins[:-1][which] + 1] = number[which]

    kind = np.concatenate([messages.kind, len(messages.kinds) + np.arange(len(flows), dtype=np.int32)])
    if loop is not None:
        at = np.flatnonzero(which)
        repeated = (at >= loop.first[rank[which]]) & (at < loop.last[rank[which]])
        is_fixed = np.concatenate([np.arange(len(messages.kind)) < loop.fixed, ~repeated])
        kind = _loop_last(code, argument, kind, is_fixed)
        loop = Loop(begins[loop.first], begins[loop.last], loop.copies, int(np.count_nonzero(is_fixed)))
    return (
        Instructions(code, argument, value, begins[instructions.first]),
        Messages(np.concatenate([messages.kinds, flows]), kind),
        loop,
    )


def _with_links_of_their_own(paths: Paths, bound_Bps: list[float], capacity_Bps: list[float]) -> Paths:
    """Return the paths and, for each bound, one more path over a new link."""
    count = len(bound_Bps)
    return Paths(
        bound_Bps=np.concatenate([paths.bound_Bps, bound_Bps]),
        penalty=np.concatenate([paths.penalty, np.ones(count)]),
        first=np.concatenate([paths.first, paths.first[-1] + 1 + np.arange(count)]),
        link=np.concatenate([paths.link, len(paths.capacity_Bps) + np.arange(count)]).astype(np.int32),
        weight=np.concatenate([paths.weight, np.ones(count)]),
        capacity_Bps=np.concatenate([paths.capacity_Bps, capacity_Bps]),
    )


def _loop_last(code: np.ndarray, argument: np.ndarray, kind: np.ndarray, is_fixed: np.ndarray) -> np.ndarray:
    """Renumber messages in ``argument`` so that the loop has the highest numbers; return the kinds in the new order."""
    order = np.argsort(~is_fixed, kind="stable")
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order))
    with_message = ~np.isin(code, (COMPUTE, MARK, SLEEP, POLL, BACK))
    argument[with_message] = number[argument[with_message]]
    ordered: np.ndarray = kind[order]
    return ordered
