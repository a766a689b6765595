"""Read descriptions of applications from TOML files; docs/blocks/applications.md has the format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from platforms.errors import UserError
from platforms.files.checked_toml import read_checked
from predictor.blocks.application import (
    AllToAll,
    Application,
    Barrier,
    Broadcast,
    Compute,
    Gather,
    If,
    Label,
    ReadDisk,
    Receive,
    Repeat,
    Scatter,
    Send,
    Step,
    WriteDisk,
)

_Made = TypeVar("_Made")

_KEYS = {"": ("name", "variables", "labels", "source"), "labels": ("count", "program")}

# A step is a table.  For each kind of step: the key that identifies it, its class, and the class's field of each key.
_COLLECTIVE = {"among": "among"}
_ROOTED = {**_COLLECTIVE, "root": "root", "at": "at"}
_KINDS: Mapping[str, tuple[type[Step], Mapping[str, str]]] = {
    "compute": (Compute, {"compute": "operations", "size": "size"}),
    "send_to": (Send, {"send_to": "to", "bytes": "bytes", "at": "at", "buffered": "buffered"}),
    "receive_from": (Receive, {"receive_from": "sender", "at": "at"}),
    "broadcast": (Broadcast, {"broadcast": "bytes", **_ROOTED}),
    "scatter": (Scatter, {"scatter": "bytes", **_ROOTED}),
    "gather": (Gather, {"gather": "bytes", **_ROOTED}),
    "alltoall": (AllToAll, {"alltoall": "bytes", **_COLLECTIVE}),
    "barrier": (Barrier, {"barrier": "among"}),
    "read_disk": (ReadDisk, {"read_disk": "bytes"}),
    "write_disk": (WriteDisk, {"write_disk": "bytes"}),
    "repeat": (Repeat, {"repeat": "times", "as": "variable", "do": "steps"}),
    "if": (If, {"if": "condition", "then": "steps", "else": "otherwise"}),
}
_NEEDED = {"send_to": ("bytes",), "repeat": ("do",), "if": ("then",)}
_EXAMPLES = {
    "count": "count = 4", "program": 'program = [{ compute = "n" }]', "bytes": "bytes = 1024",
    "do": 'do = [{ compute = "n" }]', "then": 'then = [{ compute = "n" }]',
}  # fmt: skip
_LABELS = ("to", "sender", "root", "variable")  # fields that hold names
_PROGRAMS = ("steps", "otherwise")  # fields that hold lists of steps
_TRUTHS = ("buffered", "condition")  # fields that may be true or false


def read_application(path: str | Path) -> Application:
    """Return the application that a file describes.

    Raises:
        UserError: If anything in the file is wrong; the error names the file and the element.
    """
    path = Path(path)
    table = read_checked(path, _KEYS, "description of an application")
    table.text("source", "")  # checked only; people who read the file use it
    labels, variables = table.value("labels", None), table.value("variables", {})
    if not isinstance(labels, dict) or not labels:
        raise UserError(str(path), "no [labels.NAME]", "Give at least one, with count and program")
    if not isinstance(variables, dict):
        raise UserError(str(path), "variables is not a table", "Write [variables] and name = value below it")
    made = tuple(_label(name, value, f"{path}, label {name}") for name, value in labels.items())
    for name, value in variables.items():
        _number(name, value, f"{path}, variables")
    return Application(table.text("name", path.stem), made, variables, where=str(path))


def _label(name: str, value: object, where: str) -> Label:
    if not isinstance(value, dict):
        raise UserError(where, "not a table", f"Write [labels.{name}], and count and program below it")
    for key in value:
        if key not in _KEYS["labels"]:
            raise UserError(where, f"unknown key {key!r}", f"Known here: {', '.join(_KEYS['labels'])}")
    for key in _KEYS["labels"]:
        if key not in value:
            raise UserError(where, f"{key!r} is missing", f"Give it, for example {_EXAMPLES[key]}")
    return _placed(
        f"{where}, count",
        Label,
        name,
        _number("count", value["count"], where),
        _steps(value["program"], f"{where}, step "),
    )


def _steps(value: object, where: str) -> tuple[Step, ...]:
    """Return a list's steps; ``where`` is the text before a step's number in error messages."""
    if not isinstance(value, list):
        raise UserError(where.rstrip(". "), "not a list of steps", 'Write for example [{ compute = "n" }]')
    return tuple(_step(one, f"{where}{number}") for number, one in enumerate(value, 1))


def _step(value: object, where: str) -> Step:
    if not isinstance(value, dict):
        raise UserError(where, f"{value!r} is not a step", 'Write for example { compute = "n" }')
    kinds = [key for key in value if key in _KINDS]
    if len(kinds) != 1:
        problem = f"both {' and '.join(kinds)}" if kinds else f"no kind of step among {', '.join(value) or 'its keys'}"
        raise UserError(where, problem, f"Give exactly one of {', '.join(_KINDS)}")
    kind = kinds[0]
    made, keys = _KINDS[kind]
    for key in value:
        if key not in keys:
            raise UserError(where, f"{kind} has no key {key!r}", f"Known here: {', '.join(keys)}")
    for key in _NEEDED.get(kind, ()):
        if key not in value:
            raise UserError(where, f"{kind} without {key!r}", f"Give it, for example {_EXAMPLES[key]}")
    given = {keys[key]: _field(keys[key], key, one, where) for key, one in value.items()}
    return _placed(where, made, **given)


def _field(name: str, key: str, value: object, where: str) -> object:
    if name in _PROGRAMS:
        return _steps(value, f"{where}.else." if key == "else" else f"{where}.")
    if name == "among":
        return _among(key, value, where)
    if name in _LABELS and not isinstance(value, str):
        raise UserError(where, f"{key} = {value!r} is not a name", "Give a string")
    return value if name in _TRUTHS else _number(key, value, where)


def _number(key: str, value: object, where: str) -> object:
    """Return the value unchanged; refuse true and false."""
    if isinstance(value, bool):
        raise UserError(where, f"{key} = {str(value).lower()} is not a number", "Give a number or an expression")
    return value


def _among(key: str, value: object, where: str) -> tuple[str, ...]:
    """Return the names of labels that take part; a barrier may have ``true`` for all labels."""
    if key == "barrier" and value is True:
        return ()
    if not (isinstance(value, list) and value and all(isinstance(one, str) for one in value)):
        also = ", or write true for all" if key == "barrier" else ""
        raise UserError(where, f"{key} = {value!r} is not a list of labels", f"Name at least one{also}")
    return tuple(value)


def _placed(where: str, make: Callable[..., _Made], *args: object, **given: object) -> _Made:
    """Call ``make`` with these arguments; put the place before the errors of their expressions."""
    try:
        return make(*args, **given)
    except UserError as err:
        raise UserError(f"{where}, {err.where}", err.problem, err.remedy) from None
