"""Show a system and, with --count, where processes are placed on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from platforms.command.command import Command, Reply
from platforms.command.request import JsonOption, argument, option
from platforms.errors import UserError
from platforms.model.placement import write_host_file
from platforms.system.convert import system_named
from platforms.system.model import System
from platforms.system.scheduler import POLICIES, Schedule, schedule
from platforms.terminal.prose import prose_lines
from platforms.terminal.table import table_lines

_MOST_DIGITS = 18  # in a number of processes


@dataclass(frozen=True, kw_only=True)
class SystemRequest(JsonOption):
    """Request of ``gridval platform system``."""

    system: str = argument("SYSTEM", "a system file, a scenario file, or the name of a scenario")
    hardware: tuple[str, ...] = option((), "FILE", "hardware of your own")
    count: tuple[str, ...] = option((), "LABEL=N", "processes of a label to place, in rank order")
    policy: str | None = option(
        None, "NAME", f"scheduling policy: {', '.join(POLICIES)} (default: {next(iter(POLICIES))})"
    )
    write_hostfile: str | None = option(None, "FILE", "write the host of each rank, for --hostfile of a run")


def answer(request: SystemRequest) -> Reply:
    """Describe the system, and place processes on it if that is asked for."""
    counts = counts_of(request.count)
    for name, value in (("--policy", request.policy), ("--write-hostfile", request.write_hostfile)):
        if value is not None and not counts:
            raise UserError(name, "there is nothing to place", "Give --count LABEL=N")
    system = system_named(request.system, hardware=request.hardware)
    plan = schedule(system, counts, request.policy or next(iter(POLICIES))) if counts else None
    if request.write_hostfile is not None and plan is not None:
        write_host_file(request.write_hostfile, plan.placement())
    return Reply(
        (system, plan),
        lambda: "\n\n".join([_system_text(system), *([] if plan is None else [_plan_text(plan)])]),
        lambda: _system_values(system) | ({} if plan is None else _plan_values(plan)),
    )


def counts_of(entries: Sequence[str]) -> dict[str, int]:
    """Return the number of processes of each label, from texts LABEL=N.

    Raises:
        UserError: A text does not have this form, or a label is given twice.
    """
    counts: dict[str, int] = {}
    for entry in entries:
        label, _, number = entry.partition("=")
        if not label or not (number.isascii() and number.isdecimal()):
            raise UserError(f"--count {entry}", "not a label and a number", "Write for example --count slave=128")
        if len(number) > _MOST_DIGITS:
            problem = f"a number of {len(number)} digits"
            raise UserError(f"--count {label}", problem, f"Give one of at most {_MOST_DIGITS}")
        if label in counts:
            raise UserError(f"--count {entry}", "this label is given twice", "Keep one")
        counts[label] = int(number)
    return counts


def _system_values(system: System) -> dict[str, Any]:
    groups = [
        {
            "name": group.name,
            "lan": group.lan.name,
            "units": group.units,
            "kind": group.unit.kind,
            "processor": group.unit.processor,
            "cores": group.unit.cores,
            "threads": group.unit.threads,
            "speed_flops": group.unit.speed_flops,
            "idle_w": None if group.unit.power is None else group.unit.power.idle_w,
            "full_w": None if group.unit.power is None else group.unit.power.full_w,
            "price_usd": group.unit.price_usd,
            "node_failures_per_year": group.node.failures_per_year,
            "slots": dict(group.unit.slots),
        }
        for group in system.groups
    ]
    idle_w, full_w = watts_of(system)
    return {
        "name": system.name,
        "network": system.network,
        "nodes": system.nodes,
        "idle_w": idle_w,
        "full_w": full_w,
        "network_w": network_watts_of(system),
        "failures_per_year": failures_of(system),
        "price_usd": price_of(system),
        "groups": groups,
    }


def watts_of(system: System) -> tuple[float, float]:
    """Return the power of all units whose power is known, idle and at full load, W."""
    powers = [(group.units, group.unit.power) for group in system.groups if group.unit.power is not None]
    idle_w, full_w = (sum(n * getattr(power, key) for n, power in powers) for key in ("idle_w", "full_w"))
    return idle_w, full_w


def network_watts_of(system: System) -> float | None:
    """Return the power of the adapters and switch ports of all nodes, W; None: that of some LAN is not known."""
    watts = [
        None if lan.hardware is None else lan.hardware.watts(sum(node.count for node in lan.nodes))
        for lan in system.top.lans()
    ]
    known = [watt for watt in watts if watt is not None]
    return sum(known) if len(known) == len(watts) else None


def failures_of(system: System) -> float | None:
    """Return the failures of all nodes together in a year, or None if the rate of some node is not known."""
    rates = [(node.count, node.failures_per_year) for lan in system.top.lans() for node in lan.nodes]
    known = [count * rate for count, rate in rates if rate is not None]
    return sum(known) if len(known) == len(rates) else None


def price_of(system: System) -> float | None:
    """Return the price of all processors, USD, or None if a price is unknown."""
    prices = [(group.units, group.unit.price_usd) for group in system.groups]
    known = [n * price for n, price in prices if price is not None]
    return sum(known) if len(known) == len(prices) else None


def _plan_values(plan: Schedule) -> dict[str, Any]:
    placed = {
        label: [
            {
                "group": placement.group.name,
                "first_unit": placement.first,
                "units": placement.units,
                "per_unit": placement.per_unit,
            }
            for placement in several
        ]
        for label, several in plan.placed.items()
    }
    return {"policy": plan.policy, "placed": placed}


def _system_text(system: System) -> str:
    rows = [("units", "LAN", "number", "processor", "cores", "Gflop/s", "idle W", "full W", "USD", "slots")]
    for group in system.groups:
        unit = group.unit
        watts = ("-", "-") if unit.power is None else (f"{unit.power.idle_w:g}", f"{unit.power.full_w:g}")
        price = "-" if unit.price_usd is None else f"{unit.price_usd:g}"
        slots = ", ".join(f"{label} {number}" for label, number in unit.slots) or "none"
        rows.append(
            (
                group.name, group.lan.name, f"{group.units:,}", unit.processor, str(unit.cores),
                f"{unit.unit_flops / 1e9:.6g}", *watts, price, slots,
            )
        )  # fmt: skip
    flops = sum(group.units * group.unit.unit_flops for group in system.groups)
    (idle_w, full_w), price_usd = watts_of(system), price_of(system)
    head = f"{system.name}: {system.nodes:,} nodes, network {system.network}, {flops / 1e9:,.6g} Gflop/s"
    price = "" if price_usd is None else f", processors {price_usd:,.0f} USD"
    network_w, failures = network_watts_of(system), failures_of(system)
    more = "" if network_w is None else f", network {network_w:,.6g} W"
    more += "" if failures is None else f", {failures:.4g} failures of nodes in a year"
    said = prose_lines(f"{head}, {idle_w:,.6g} W idle, {full_w:,.6g} W at full load{price}{more}")
    return "\n".join([*said, "", _aligned(rows)])


def _plan_text(plan: Schedule) -> str:
    rows: list[tuple[str, ...]] = [("label", "units", "from", "number", "each", "processes")]
    for label, several in plan.placed.items():
        for placement in several:
            numbers = (placement.first, placement.units, placement.per_unit, placement.processes)
            rows.append((label, placement.group.name, *(f"{number:,}" for number in numbers)))
    return f"placed {plan.policy}\n\n{_aligned(rows)}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(table_lines(rows, left=range(len(rows[0]))))


COMMAND = Command(
    "platform system",
    SystemRequest,
    answer,
    __doc__,
)
main = COMMAND.main
