"""The values of a part of a system as fields of a form, and what users type into them as values of TOML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from platforms.grids.grid import WAN_SHAPES
from platforms.system.units import PRECISIONS
from validation.workbench.editing.parts import Part

_SLOT = re.compile(r"\s*([^\s,;]+?)[\s:=]+(\d{1,18})\s*")
_WHOLE = re.compile(r"[+-]?\d{1,18}")
NO_SLOTS = "none"


@dataclass(frozen=True)
class Field:
    """One field of a form."""

    key: str  # of the table, or table.key
    title: str
    kind: str = "text"  # "text", "number", "slots", or "hardware"
    table: str = ""  # of hardware: its table in the database
    choices: tuple[str, ...] = ()
    hint: str = ""
    rare: bool = False  # most users leave it empty


_NAME = Field("name", "Name")
_NETWORK = Field("network", "Network", "hardware", "networks", hint="in the hardware database")
_BANDWIDTH = Field("bandwidth_gbit_s", "Bandwidth, Gbit/s", "number", hint="of the network")
_LATENCY = Field("latency_us", "Latency from end to end, us", "number", hint="of the network")
_DUPLEX = Field("duplex", "Each direction has the full bandwidth", choices=("true", "false"), hint="true")
_OF_UNITS = (
    Field("sockets", "Sockets with such a CPU", "number", hint="1"),
    Field("slots", "Labels and their most processes", "slots", hint="any label, as many as cores"),
    Field("power.idle_w", "Power of the unit when idle, W", "number", hint="of its processors", rare=True),
    Field("power.full_w", "Power of the unit at full load, W", "number", hint="of its processors", rare=True),
    Field("thread_slowdown", "Time of a thread while all threads are busy, 1 = alone", "number",
          hint="of the processor", rare=True),
)  # fmt: skip
_CPU = Field("cpu", "CPU", "hardware", "cpus", hint="in the hardware database")
_GPU = Field("gpu", "GPU", "hardware", "gpus", hint="in the hardware database")
_BUS = Field("bus", "Bus to its other units", "hardware", "networks", hint="none")
_OF_NODES = (
    Field("base_w", "Power of the rest of a node, W", "number", hint="0", rare=True),
    Field("failures_per_year", "Failures of a node in a year", "number", hint="of its parts", rare=True),
    Field("link.bandwidth_gbit_s", "Bandwidth of its own link, Gbit/s", "number", hint="of the LAN", rare=True),
    Field("link.latency_us", "Latency of its own link to the switch, us", "number", hint="of the LAN", rare=True),
    Field(
        "memory.bandwidth_gbit_s", "Bandwidth within a unit, Gbit/s", "number", hint="over the link and back", rare=True
    ),
    Field("memory.latency_us", "Latency within a unit, us", "number", hint="over the link and back", rare=True),
)
_FIELDS: Mapping[str, tuple[Field, ...]] = {
    "system": (
        Field("name", "Name", hint="of the file"),
        Field("precision", "Precision whose peak counts", choices=PRECISIONS, hint=PRECISIONS[0]),
        Field("source", "Source"),
    ),
    "wan": (_NAME, _NETWORK, _BANDWIDTH, _LATENCY, Field("shape", "Shape", choices=WAN_SHAPES, hint="star"), _DUPLEX),
    "lan": (
        _NAME, _NETWORK, _BANDWIDTH, _LATENCY,
        Field("fabric.bandwidth_gbit_s", "Bandwidth of the switch, Gbit/s", "number", hint="not limited", rare=True),
    ),
    "link": (_NETWORK, _BANDWIDTH, _LATENCY, _DUPLEX),
    "disk": (Field("disk", "Disk", "hardware", "disks", hint="in the hardware database"),),
}  # fmt: skip
_DISK = "disk"


def fields_of(part: Part) -> list[tuple[Field, str]]:
    """Return the fields of a part and what is in them."""
    if part.kind == "node":
        inside = any(inner.kind == "unit" for inner in part.parts)
        fields = [_NAME, Field("count", "Number of equal nodes", "number", hint="1")]
        fields += [_BUS] if inside else [_GPU if "gpu" in part.values else _CPU, *_OF_UNITS]
        fields += _OF_NODES
    elif part.kind == "unit":
        gpu = "gpu" in part.values
        fields = [Field("name", "Name", hint="gpu" if gpu else "cpu"), _GPU if gpu else _CPU]
        fields += [Field("count", "Number of such units in a node", "number", hint="1")]
        fields += [field for field in _OF_UNITS if not (gpu and field.key == "sockets")]
        fields += [Field("bus", "Bus of its own", "hardware", "networks", hint="of the node")]
    elif part.kind == "link":
        ends = [Field("between.0", "From"), Field("between.1", "To")] if "between" in part.values else [
            Field("to", "From the hub to")]  # fmt: skip
        fields = [*ends, *_FIELDS["link"]]
    else:
        fields = list(_FIELDS[part.kind])
    return [(field, _shown(part, field)) for field in fields]


def field_of(part: Part, key: str) -> Field | None:
    """Return the field of a key; None: the part has none of this name."""
    return next((field for field, _ in fields_of(part) if field.key == key), None)


def typed(field: Field, text: str) -> object:
    """Return the value of TOML for what a user typed; None: the field is empty.

    What is no number in a field of a number stays a text: the check of the system then says so, and nothing is lost.
    """
    text = text.strip()
    if not text:
        return None
    if field.kind == "number":
        return _number(text)
    if field.kind == "slots":
        return _slots(text)
    if field.choices == ("true", "false") and text in field.choices:
        return text == "true"
    return text


def slots_text(given: object) -> str:
    """Return slots as ``typed`` reads them."""
    if isinstance(given, Mapping):
        return ", ".join(f"{label} {number}" for label, number in given.items()) or NO_SLOTS
    return "" if given is None else str(given)


def _shown(part: Part, field: Field) -> str:
    if part.kind == "disk":
        return part.name
    value: Any = part.values
    for key in field.key.split("."):
        if isinstance(value, list) and key.isdecimal():
            value = value[int(key)] if int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, Mapping) else None
    if field.kind == "slots":
        return slots_text(value)
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {inner}" for key, inner in value.items())
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(text: str) -> object:
    if _WHOLE.fullmatch(text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text


def _slots(text: str) -> object:
    if text.lower() == NO_SLOTS:
        return {}
    slots = {}
    for word in re.split(r"[,;]", text):
        match = _SLOT.fullmatch(word)
        if match is None:
            return text
        slots[match[1]] = int(match[2])
    return slots
