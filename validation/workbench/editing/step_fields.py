"""The values of a step as fields of a form, the names that its expressions may use, and changes of single values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tomlkit
import tomlkit.exceptions

from platforms.errors import UserError
from platforms.files.toml_places import Path
from predictor.blocks.parsing import BUILT_IN
from validation.workbench.editing.applications import step_of

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d{1,18}")
ALL = "all"


@dataclass(frozen=True)
class StepField:
    """One field of a step; its kind is expression, name, names or truth."""

    key: str
    title: str
    kind: str = "expression"
    hint: str = ""
    of: str = ""  # of names: labels, requests or steps, which are offered


_SIZE = (StepField("size", "Size that the operations use", hint="none"),
         StepField("efficiency", "Efficiency", hint="of the label"))  # fmt: skip
_AT = StepField("at", "Index of that process", hint="each, in turn")
_REQUEST = StepField("request", "Name of the request, to go on meanwhile", "name", "none: it waits", "requests")
_BUFFERED = StepField("buffered", "Goes on before it is received", "truth", "false")
_AMONG = StepField("among", "Labels that take part", "names", "all", "labels")
_SPLIT = StepField("split", "Groups: processes with the same value", hint="one group")
_ROOT = (StepField("root", "Label of the root", "name", "the first label", "labels"),
         StepField("at", "Index of the root", hint="0"))  # fmt: skip
_TURN = StepField("as", "Name of the number of the turn", "name", "none")

_MOST = StepField("at_most", "Most turns", hint="no bound")


def _collective(key: str, title: str, *more: StepField) -> tuple[StepField, ...]:
    return (StepField(key, title), *more, _AMONG, _SPLIT)


FIELDS: Mapping[str, tuple[StepField, ...]] = {  # by the key that says which kind of step it is
    "compute": (StepField("compute", "Operations"), *_SIZE),
    "send_to": (StepField("send_to", "Label that gets it", "name", of="labels"), StepField("bytes", "Bytes"), _AT,
                _BUFFERED, _REQUEST),
    "receive_from": (StepField("receive_from", "Label that sends it", "name", of="labels"), _AT, _REQUEST),
    "receive_from_any": (StepField("receive_from_any", "Label that sends it", "names", ALL, "labels"),),
    "reply": (StepField("reply", "Bytes"), _BUFFERED),
    "wait": (StepField("wait", "Requests to wait for", "names", ALL, "requests"),),
    "broadcast": _collective("broadcast", "Bytes", *_ROOT),
    "scatter": _collective("scatter", "Bytes of the whole", *_ROOT),
    "gather": _collective("gather", "Bytes of the whole", *_ROOT),
    "reduce": _collective("reduce", "Bytes of a vector", *_ROOT),
    "allreduce": _collective("allreduce", "Bytes of a vector"),
    "allgather": _collective("allgather", "Bytes"),
    "alltoall": _collective("alltoall", "Bytes for each process"),
    "barrier": (StepField("barrier", "Labels that take part", "names", ALL, "labels"), _SPLIT),
    "read_disk": (StepField("read_disk", "Bytes"),),
    "write_disk": (StepField("write_disk", "Bytes"),),
    "repeat": (StepField("repeat", "Number of turns"), _TURN),
    "while": (StepField("while", "Condition"), _TURN, _MOST),
    "repeat_until": (StepField("repeat_until", "Condition, tested after each turn"), _TURN, _MOST),
    "set": (StepField("set", "Name = value, or += -= *= /= a change"),),
    "if": (StepField("if", "Condition"),),
    "call": (StepField("call", "Named steps", "name", of="steps"),),
}  # fmt: skip


def fields_of_step(step: object, named: Mapping[str, Any]) -> list[tuple[StepField, str]]:
    """Return the fields of a step and what is in them; none: it is of no known kind.

    Args:
        step: The step, as the file has it.
        named: The named steps of the file.
    """
    if not isinstance(step, Mapping):
        return []
    kind = next((key for key in FIELDS if key in step), None)
    if kind is None:
        return []
    fields = list(FIELDS[kind])
    if kind == "call":
        called = named.get(str(step["call"]))
        parameters = called.get("parameters", []) if isinstance(called, Mapping) else []
        fields += [StepField(str(name), str(name)) for name in parameters if isinstance(name, str)]
    return [(field, _shown(step.get(field.key))) for field in fields]


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _typed(field: StepField, text: str) -> object:
    """Return the value of TOML for what a user typed; None: the field is empty."""
    text = text.strip()
    if not text:
        return None
    if field.kind == "truth" and text in ("true", "false"):
        return text == "true"
    if field.kind == "names":
        if text in (ALL, "true"):
            return True
        names = [name.strip() for name in text.split(",") if name.strip()]
        return names[0] if field.key in ("receive_from_any", "wait") and len(names) == 1 else names
    if field.kind == "expression" and _NUMBER.fullmatch(text):
        return int(text) if _WHOLE.fullmatch(text) else float(text)
    return text


def with_values(text: str, changes: Mapping[str, str], named: Mapping[str, Any]) -> str:
    """Return the text of a step with other values of its fields; everything else stays as it was written.

    Raises:
        UserError: The step has no such field, or cannot be changed so.
    """
    fields = {field.key: (field, shown) for field, shown in fields_of_step(step_of(text), named)}
    try:
        document = tomlkit.parse(f"step = {text}")
        step: Any = document["step"]
        for key, given in changes.items():
            if key not in fields:
                raise UserError("step", f"it has no value {key!r}", "Change its text")
            field, shown = fields[key]
            if given.strip() == shown:
                continue
            value = _typed(field, given)
            if value is None:
                step.pop(key, None)
            else:
                step[key] = value
        return tomlkit.dumps(document).removeprefix("step = ").strip()
    except (tomlkit.exceptions.TOMLKitError, TypeError, AttributeError):
        raise UserError(
            "step", "its values are written in a way that cannot be changed here", "Change its text"
        ) from None


def names_for(values: Mapping[str, Any], path: Path) -> list[tuple[str, str]]:
    """Return the names that expressions of a step may use, each with what it stands for."""
    variables, functions = values.get("variables", {}), values.get("functions", {})
    labels = values.get("labels", {})
    names = [(name, f"variable, {_shown(value)}") for name, value in _entries(variables)]
    names += [(name, "number of processes of this label") for name, _ in _entries(labels)]
    names += [(name.partition("(")[0], f"function, {name}") for name, _ in _entries(functions)]
    names.append(("index", "number of the process in its label, from 0"))
    here: Any = values
    for step in path:
        if isinstance(here, Mapping) and isinstance(here.get("as"), str):
            names.append((here["as"], "number of the turn"))
        if isinstance(here, Mapping) and isinstance(here.get("parameters"), list):
            names += [(str(name), "parameter") for name in here["parameters"]]
        try:
            here = here[step]
        except (KeyError, IndexError, TypeError):
            break
    if isinstance(here, Mapping) and "size" in here:
        names.append(("size", "size of this step"))
    return names + [(name, "function") for name in BUILT_IN]


def _entries(table: object) -> Sequence[tuple[str, Any]]:
    return list(table.items()) if isinstance(table, Mapping) else ()


def offered(values: Mapping[str, Any], programs_steps: Sequence[object]) -> dict[str, list[str]]:
    """Return the names of labels, requests and named steps that fields offer."""
    requests = [str(step["request"]) for step in programs_steps if isinstance(step, Mapping) and "request" in step]
    return {
        "labels": [name for name, _ in _entries(values.get("labels"))],
        "requests": list(dict.fromkeys(requests)),
        "steps": [name for name, _ in _entries(values.get("steps"))],
    }
