"""Systems of levels: wide-area networks join local networks, whose nodes consist of compute units.

The hardware of a system comes from a database.  The model follows J. Proficz and P. Czarnul, "Performance and
Power-Aware Modeling of MPI Applications for Cluster Computing", section 3: levels (WAN, LAN, node), hardware from a
database, and labels with a cardinality, the number of processes of a label that a compute unit takes (slots).

``description.read_system(path, hardware=())``   reads a System from a TOML file; its docstring lists the keys
``convert.system_named(text, ...)``                the same, or a System from a scenario's name or file
``scheduler.schedule(system, counts, policy)``   decides which processes of which label run on which units
``convert.materialise_system(system)``           the system's Platform: writes its XML file, which SimGrid loads
``system.routes(pairs)``          routes of pairs of hosts, as SimGrid computes them on that platform
``system.way(a, i, b, j)``        level, latency and bandwidth between unit i of one group and unit j of another
``system.disks_for(group)``       the disk that a process on such a unit uses, and its place

The values are frozen and in SI units (``platforms.system.parts``)::

    System      name, top: Level, options, source;  groups: tuple[UnitGroup], nodes: int
    Level       name, kind "wan" | "lan", levels or nodes below it, shape and links between levels, fabric of its switch
    Node        name, count, units: tuple[ComputeUnit], link: Wire to the LAN's switch, memory: Wire | None, disks
    ComputeUnit name, kind "cpu" | "gpu", processor, speed_flops (of a core), cores, threads, power, bus, slots,
                price_usd
    UnitGroup   node, unit, lan: the equal units of one kind on all nodes of a group;  units: their number, host(i) name
    LinkPath         kind "unit" | "node" | "lan" | "wan", level's name, latency_s, bandwidth_Bps, links

    Schedule    counts, policy, placed: dict[label, tuple[Placed]];  place(label, index) -> (UnitGroup, unit number),
                loads() -> tuple[Load], placement() -> host names in rank order (labels in order of counts, then index)
    Placed      group, first, units, per_unit, index, unit_step, process_step, processes: member
                index + u unit_step + k process_step is process k, 0 <= k < per_unit, on unit first + u, 0 <= u < units
    Load        group, first, units, processes: ((label, number per unit), ...): units with equal processes, or none

Only ``placement`` lists processes one by one: 10 million processes on 12,800 nodes are a few Placed.

Public faces: ``System``, ``description.read_system``, ``convert.system_named``, ``scheduler.schedule``,
``convert.materialise_system``.
"""

from platforms.system.model import System
from platforms.system.parts import ComputeUnit, Level, LinkPath, Node, UnitGroup

__all__ = ["ComputeUnit", "Level", "LinkPath", "Node", "System", "UnitGroup"]
