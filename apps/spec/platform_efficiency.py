"""Efficiency of a kernel from a calibrated platform: for each host, with one rank and with all cores busy."""

from __future__ import annotations

from collections import Counter

from apps.errors import OptionError
from apps.spec.choices import PLATFORM_EFFICIENCY
from apps.spec.target import Target
from platforms.model.platform import Host

_WHERE = f"--efficiency {PLATFORM_EFFICIENCY}"


def platform_efficiency(
    target: Target, *, memory_bus: float | str | None = None, bytes_per_flop: float | None = None
) -> float:
    """Return the share of its hosts' speed that the target's kernel sustains with as many ranks on each of them.

    The time of an operation grows evenly from that of one rank to that of all cores.  All hosts of a run have the same
    share, with which equal work on every rank takes the same total time.

    Args:
        target: The target.
        memory_bus: As in RunSpec.  With a bus the share is that of one rank, less the time of its bytes on the bus:
            the bus itself slows down several ranks.
        bytes_per_flop: As in RunSpec.

    Raises:
        OptionError: The platform does not give it, or the program is the user's own.
    """
    problem = target.problem
    if problem.program is not None:
        raise OptionError(_WHERE, "it is the efficiency of a kernel", "Leave it out")
    moved = problem.bytes_per_flop if bytes_per_flop is None else bytes_per_flop
    counts = Counter(target.placement)
    nominal_s = took_s = 0.0
    for name, ranks in counts.items():
        host = target.platform.host(name)
        nominal_s += ranks / host.speed_flops
        if memory_bus is None:
            took_s += ranks * _operation_s(host, problem.name, target, ranks)
        else:
            bus_Bps = host.memory_Bps if isinstance(memory_bus, str) else memory_bus
            alone_s = _operation_s(host, problem.name, target, 1)
            left_s = alone_s - (moved or 0.0) / bus_Bps if bus_Bps else alone_s
            if left_s < 1 / host.speed_flops:
                text = f"on {name} {problem.name} leaves no time for its bytes on the memory bus"
                raise OptionError(_WHERE, text, "Leave out --memory-bus: both shares include the memory")
            took_s += ranks * left_s
    return min(1.0, nominal_s / took_s)


def _operation_s(host: Host, kernel: str, target: Target, ranks: int) -> float:
    """Return the time of an operation on a host when this number of ranks compute, s."""
    known_efficiency = next((efficiency for efficiency in host.efficiencies if efficiency.kernel == kernel), None)
    if known_efficiency is None:
        problem = f"platform {target.platform.name} gives no efficiency of {kernel} on host {host.name}"
        raise OptionError(_WHERE, problem, "Calibrate it from a machine with --kernels, or give a number or reference")
    alone_s, busy_s = (1 / (share * host.speed_flops) for share in (known_efficiency.alone, known_efficiency.busy))
    busy = 0.0 if host.cores == 1 else min(1.0, (ranks - 1) / (host.cores - 1))
    return alone_s + busy * (busy_s - alone_s)
