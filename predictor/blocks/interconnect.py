"""Energy of the interconnect of the nodes in use: adapters, and their ports on switches, at constant power.

The watts are those of the hardware database, which has them only where a data sheet, a manual or a study says them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from predictor.blocks.machines.placing import covered

if TYPE_CHECKING:
    from platforms.system import System
    from platforms.system.scheduler import Schedule

_JOULES_PER_WH = 3600.0


@dataclass(frozen=True)
class Interconnect:
    """The interconnect's energy over a run, J; None where no watts are known of some network in use."""

    nodes: int
    adapters_j: float | None
    switches_j: float | None  # of the ports in use

    def line(self) -> str:
        """Return the energies as a line of text."""

        def shown(name: str, joules: float | None) -> str:
            return f"{name} of unknown watts" if joules is None else f"{name} {joules / _JOULES_PER_WH:.6g} Wh"

        parts = f"{shown('adapters', self.adapters_j)}, {shown('switch ports', self.switches_j)}"
        return f"  interconnect of these nodes, beside the total: {parts}"


def interconnect(system: System, schedule: Schedule, time_s: float) -> Interconnect:
    """Return the energy of the adapters and switch ports of the nodes that have processes, for a time.

    Args:
        system: The system.
        schedule: Placement of the processes.
        time_s: Duration of the run.
    """
    used: dict[int, list[range]] = {}
    for rows in schedule.placed.values():
        for row in rows:
            used.setdefault(id(row.group.node), []).append(range(row.first, row.first + row.units))
    nodes, adapters_w, switches_w = 0, [], []
    for lan in system.top.lans():
        here = sum(covered(used.get(id(node), [])) for node in lan.nodes)
        if not here:
            continue
        nodes += here
        hardware = lan.hardware
        adapter_w = None if hardware is None else hardware.adapter_w
        port_w = None
        if hardware is not None and hardware.switch_w is not None and hardware.switch_ports is not None:
            port_w = hardware.switch_w / hardware.switch_ports
        adapters_w.append(None if adapter_w is None else here * adapter_w)
        switches_w.append(None if port_w is None else here * port_w)
    return Interconnect(nodes, _energy(adapters_w, time_s), _energy(switches_w, time_s))


def _energy(watts: list[float | None], time_s: float) -> float | None:
    known = [watt for watt in watts if watt is not None]
    return sum(known) * time_s if watts and len(known) == len(watts) else None
