"""The one door to all experiments: with messages or blocks, simulated or on a real machine."""

from __future__ import annotations

import threading

from apps.probes.blocks.measure import BlockPlan, measure_blocks
from apps.probes.blocks.on_machine import measure_blocks_on_machine
from apps.probes.network.measure import Measurement, NetworkPlan, measure
from apps.probes.network.on_machine import measure_on_machine


def carry_out(
    plan: NetworkPlan | BlockPlan, *, time_limit_s: float | None = None, stop: threading.Event | None = None
) -> Measurement:
    """Carry out any plan, in simulation or on its machine, and return its result.

    Args:
        plan: The plan.
        time_limit_s: Wall time that each simulation may take, s; None: any.
        stop: Another thread sets it to end measuring on a machine.

    Raises:
        UserError: The options do not fit, or a host cannot be used.
        SimulationError: A simulation, or the program on the machine, does not succeed.
        Stopped: ``stop`` was set.
    """
    if isinstance(plan, BlockPlan):
        if plan.machine is not None:
            return measure_blocks_on_machine(plan, plan.machine, time_limit_s=time_limit_s, stop=stop)
        return measure_blocks(plan, time_limit_s=time_limit_s)
    if plan.machine is not None:
        return measure_on_machine(plan, plan.machine, time_limit_s=time_limit_s, stop=stop)
    return measure(plan, time_limit_s=time_limit_s)
