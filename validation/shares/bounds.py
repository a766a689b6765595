"""The least time that a choice of shares can take: that of its longest computation, without any message.

A search that takes the choices in the order of these times, and stops where they exceed the best simulated time, finds
the same best as one that simulates all.
"""

from __future__ import annotations

from apps.spec.run_spec import RunSpec
from apps.traffic import traffic

_ROUNDING = 1e-6  # relative: simulated times are extrapolated over iterations, and rounded


def least_s(spec: RunSpec) -> float:
    """Return a time that the simulated run cannot fall below, s; 0 where the speeds of the hosts are not certain.

    Those of a real machine, of a platform that changes over time, and under options of SimGrid's are not; nor is what a
    program of the user's own computes.

    Raises:
        KernelError: The traffic of the problem is not declared.
    """
    target = spec.target
    if spec.machine is not None or target.changes or spec.options or target.problem.program is not None:
        return 0.0
    flops = traffic(target.problem, target.nranks).totals(target.iterations).flops
    speeds = (target.platform.host(name).speed_flops for name in target.placement)
    longest_s = max(float(rank_flops) / speed for rank_flops, speed in zip(flops, speeds, strict=True))
    return longest_s * spec.flop_scale * (1 - _ROUNDING)
