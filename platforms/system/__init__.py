"""Systems of levels: wide-area networks of local networks of nodes of compute units, made of hardware from a database.

After the system model of J. Proficz and P. Czarnul, "Performance and Power-Aware Modeling of MPI Applications for
Cluster Computing", section 3: levels (WAN, LAN, node), hardware chosen from a database, and labels with a cardinality,
which is how many processes of a label a compute unit takes (slots).

``description.read_system(path, hardware=())``   a System from a TOML file, whose keys it lists
``named.system_named(text, ...)``                the same, or a scenario's name or file as a System
``scheduler.schedule(system, counts, policy)``   which processes of which label run on which units
``convert.materialise_system(system)``           the Platform: XML written, loaded and described by SimGrid
``system.routes(pairs)``          routes of pairs of hosts, as SimGrid has them on that platform
``system.way(a, i, b, j)``        level, latency and bandwidth between unit i of one group and unit j of another
``system.disks_for(group)``       the disk that a process there uses, and where it is

The values, all frozen, SI units (``platforms.system.model``)::

    System      name, top: Level, options, source;  groups: tuple[UnitGroup], nodes: int
    Level       name, kind "wan" | "lan", levels or nodes below it, shape and links between levels, fabric of its switch
    Node        name, count, units: tuple[ComputeUnit], link: Wire to the LAN's switch, memory: Wire | None, disks
    ComputeUnit name, kind "cpu" | "gpu", processor, speed_flops (of a core), cores, threads, power, bus, slots,
                price_usd
    UnitGroup   node, unit, lan: the equal units of one kind over all nodes of a group;  units: how many, host(i) name
    Way         kind "unit" | "node" | "lan" | "wan", level's name, latency_s, bandwidth_Bps, links

    Schedule    counts, policy, placed: dict[label, tuple[Placed]];  place(label, index) -> (UnitGroup, unit number),
                loads() -> tuple[Load], placement() -> host names in rank order (labels in order of counts, then index)
    Placed      group, first, units, per_unit, index, unit_step, process_step, processes: member
                index + u unit_step + k process_step is process k, 0 <= k < per_unit, on unit first + u, 0 <= u < units
    Load        group, first, units, processes: ((label, number per unit), ...): units with equal processes, none too

Nothing of it lists processes one by one but ``placement``: 10 million processes on 12,800 nodes are a few Placed.
"""

from platforms.system.model import ComputeUnit, Level, Node, System, UnitGroup, Way

__all__ = ["ComputeUnit", "Level", "Node", "System", "UnitGroup", "Way"]
