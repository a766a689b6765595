"""Read the compute units of a node and the links of a system from its TOML file and the hardware database."""

from __future__ import annotations

from dataclasses import replace

from platforms.errors import PlatformError
from platforms.files.checked_toml import CheckedTable
from platforms.grids.grid import Wire
from platforms.grids.scenario import wire_of
from platforms.model.platform import Power
from platforms.system.database import Hardware, Processor
from platforms.system.parts import ANY, ComputeUnit, OperationTimes, ThreadWatts

PRECISIONS = ("double", "single")
_OF_A_UNIT = ("cpu", "gpu", "sockets", "slots", "power", "thread_slowdown", "operation_ns")


def units_of(node: CheckedTable, hardware: Hardware, precision: str) -> tuple[ComputeUnit, ...]:
    """Return the units of a node: those of its [[unit]] tables, or the single unit that its own keys describe.

    If the node has a bus, all units except the first CPU are connected through it.

    Raises:
        PlatformError: A unit is wrong; the message names its table.
    """
    bus = wire_under(node, "bus", hardware, None)
    if node.has("unit"):
        for key in _OF_A_UNIT:
            if node.has(key):
                raise PlatformError(node.where, f"{key!r} beside units", "Write it into the unit that it belongs to")
        entries = node.tables("unit")
    else:
        entries = [node]
    units: list[ComputeUnit] = []
    for entry in entries:
        number = entry.integer("count", 1) if entry is not node else 1
        if number < 1:
            raise PlatformError(entry.where, f"{number} units", "Give at least 1")
        unit = _unit(entry, hardware, precision)
        if entry is not node:
            own_bus = wire_under(entry, "bus", hardware, None)
            first_cpu = unit.kind == "cpu" and not any(unit.kind == "cpu" for unit in units)
            unit = replace(unit, name=entry.text("name", unit.kind), bus=own_bus or (None if first_cpu else bus))
        elif unit.kind == "gpu":
            unit = replace(unit, bus=bus)
        units += [unit] if number == 1 else [replace(unit, name=f"{unit.name}{k}") for k in range(1, number + 1)]
    return tuple(_with_base(units, node))


def wire_of_network(entry: CheckedTable, hardware: Hardware, default: Wire | None = None) -> Wire:
    """Return the Wire of a table with ``network``, ``bandwidth_gbit_s`` and ``latency_us`` (from end to end).

    Absent values come from the network, else from ``default``.

    Raises:
        PlatformError: There is no default, and the table gives neither a network nor both values.
    """
    if entry.has("network"):
        network = hardware.network(entry.text("network"), entry.where)
        return wire_of(entry, Wire(network.bandwidth_Bps, network.latency_s))
    if default is None:
        if not entry.has("bandwidth_gbit_s") or not entry.has("latency_us"):
            remedy = f"Give network, or bandwidth_gbit_s and latency_us. Networks: {', '.join(hardware.networks)}"
            raise PlatformError(entry.where, "bandwidth and latency of its links are missing", remedy)
        default = Wire(1.0, 0.0)  # both values are given
    return wire_of(entry, default)


def wire_under(entry: CheckedTable, key: str, hardware: Hardware, default: Wire | None) -> Wire | None:
    """Return the Wire under a key, given as the name of a network or as a table; ``default`` if the key is absent."""
    if not entry.has(key):
        return default
    if isinstance(entry.value(key, None), str):
        network = hardware.network(entry.text(key), entry.at(key))
        return Wire(network.bandwidth_Bps, network.latency_s)
    return wire_of_network(entry.table(key, "wire"), hardware, default)


def _unit(entry: CheckedTable, hardware: Hardware, precision: str) -> ComputeUnit:
    kinds = [kind for kind in ("cpu", "gpu") if entry.has(kind)]
    if len(kinds) != 1:
        problem = "both a cpu and a gpu" if kinds else "neither a cpu nor a gpu"
        raise PlatformError(entry.where, problem, "Give one of them; write several units as [[unit]] of the node")
    (kind,) = kinds
    processor = hardware.processor(kind, entry.text(kind), entry.where)
    sockets = entry.integer("sockets", 1)
    if sockets < 1:
        raise PlatformError(entry.where, f"{sockets} sockets", "Give at least 1")
    if sockets > 1 and kind == "gpu":
        raise PlatformError(entry.where, "a gpu with sockets", "Write count = 2 in its [[unit]]")
    cores, threads, speed_flops = _cores(processor, sockets, precision)
    return ComputeUnit(
        kind, kind, processor.name, speed_flops, cores, threads, _power(entry, processor, sockets),
        slots=_slots(entry, cores),
        price_usd=None if processor.price_usd is None else sockets * processor.price_usd,
        thread_slowdown=_thread_slowdown(entry, processor),
        failures_per_year=None if processor.failures_per_year is None else sockets * processor.failures_per_year,
        operation=_operation(entry, speed_flops), thread_watts=_thread_watts(entry),
    )  # fmt: skip


def _thread_slowdown(entry: CheckedTable, processor: Processor) -> float | None:
    if not entry.has("thread_slowdown"):
        return processor.thread_slowdown
    value = entry.number("thread_slowdown")
    if not 1 <= value < float("inf"):
        raise PlatformError(entry.of("thread_slowdown"), f"thread_slowdown is {value:g}", "Give 1 or more")
    return value


def _operation(entry: CheckedTable, speed_flops: float) -> OperationTimes | None:
    """Return the measured times of an operation under the key ``operation_ns``, if present."""
    if not entry.has("operation_ns"):
        return None
    if entry.has("thread_slowdown"):
        raise PlatformError(entry.of("thread_slowdown"), "thread_slowdown beside operation_ns", "Keep one of them")
    given = entry.table("operation_ns", "operation_ns")
    core_ns = given.number("core")
    if not core_ns * 1e-9 * speed_flops >= 1:
        problem = f"core = {core_ns:g} ns, less than an operation takes at the peak of {speed_flops / 1e9:g} Gflop/s"
        raise PlatformError(given.of("core"), problem, f"Give at least {1e9 / speed_flops:.4g}")
    thread_ns = given.number("thread", core_ns)
    beyond_ns, each_ns = given.number("beyond"), given.number("beyond_each")
    if not core_ns <= thread_ns < float("inf"):
        raise PlatformError(
            given.of("thread"), f"thread = {thread_ns:g} ns", f"Give at least {core_ns:g}, that of core"
        )
    if not (beyond_ns >= 0 and 0 < each_ns < float("inf")):
        problem = f"beyond = {beyond_ns:g} ns, beyond_each = {each_ns:g} ns"
        raise PlatformError(given.where, problem, "Give 0 or more, and a time above 0 for each thread")
    return OperationTimes(core_ns * 1e-9, thread_ns * 1e-9, beyond_ns * 1e-9, each_ns * 1e-9)


def _thread_watts(entry: CheckedTable) -> ThreadWatts | None:
    """Return the watts of hardware threads among those of ``power``, if they are there."""
    if not entry.has("power"):
        return None
    given = entry.table("power", "power")
    keys = ("threads_w", "thread_w", "most_w")
    if not any(given.has(key) for key in keys):
        return None
    watts = ThreadWatts(*(given.number(key) for key in keys))
    if not (watts.base_w >= 0 and watts.each_w >= 0 and given.number("full_w") <= watts.most_w < float("inf")):
        problem = f"{watts.base_w:g} W and {watts.each_w:g} W for each thread, at most {watts.most_w:g} W"
        raise PlatformError(given.where, problem, "Give 0 or more, and a most_w of at least full_w")
    return watts


def _cores(processor: Processor, sockets: int, precision: str) -> tuple[int, int, float]:
    """Return cores, threads and speed of a core, flop/s.  A GPU counts as one core: a kernel uses all of it."""
    core_flops = processor.core_double_flops if precision == "double" else processor.core_single_flops
    if processor.kind == "gpu":
        return 1, 1, core_flops * processor.cores
    return processor.cores * sockets, processor.threads * sockets, core_flops


def _power(entry: CheckedTable, processor: Processor, sockets: int) -> Power:
    if entry.has("power"):
        given = entry.table("power", "power")
        idle_w, full_w = given.number("idle_w"), given.number("full_w")
        return Power(idle_w, full_w, epsilon_w=idle_w)
    idle_w = processor.idle_w * sockets
    return Power(idle_w, processor.full_w * sockets, epsilon_w=idle_w)


def _slots(entry: CheckedTable, cores: int) -> tuple[tuple[str, int], ...]:
    if not entry.has("slots"):
        return ((ANY, cores),)
    given = entry.value("slots", {})
    if not isinstance(given, dict) or any(not isinstance(n, int) or isinstance(n, bool) for n in given.values()):
        raise PlatformError(entry.at("slots"), f"{given!r}", "Give numbers by label, such as { slave = 4 }")
    return tuple(given.items())


def _with_base(units: list[ComputeUnit], node: CheckedTable) -> list[ComputeUnit]:
    """Add the power of the rest of a node to its first unit, because SimGrid knows only the power of hosts."""
    base_w = node.number("base_w", 0.0)
    power = units[0].power
    assert power is not None  # _unit gives one to each
    more = Power(power.idle_w + base_w, power.full_w + base_w, power.epsilon_w + base_w)
    watts = units[0].thread_watts
    if watts is not None:
        watts = replace(watts, base_w=watts.base_w + base_w, most_w=watts.most_w + base_w)
    return [replace(units[0], power=more, thread_watts=watts), *units[1:]]
