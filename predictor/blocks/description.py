"""Read descriptions of applications from TOML files; docs/blocks/applications.md has the format."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from platforms.errors import UserError, did_you_mean, inside, nearest
from platforms.files.checked_toml import read_checked
from predictor.blocks import programs
from predictor.blocks.application import Application
from predictor.blocks.expressions import Expression
from predictor.blocks.places import inner_place, label_place, list_place, named_steps_place, step_place

_Made = TypeVar("_Made")

_LABEL_KEYS = ("count", "program", "grid", "periodic", "efficiency")
_STEPS_KEYS = ("parameters", "do")
_KEYS = {
    "": ("name", "variables", "functions", "labels", "steps", "source"),
    "labels": _LABEL_KEYS,
    "steps": _STEPS_KEYS,
}

# A step is a table.  For each kind of step: the key that identifies it, its class, and the class's field of each key.
_COLLECTIVE = {"among": "among", "split": "split"}
_ROOTED = {**_COLLECTIVE, "root": "root", "at": "at"}
_LOOP = {"as": "variable", "at_most": "at_most", "do": "steps"}
_KINDS: Mapping[str, tuple[Callable[..., programs.Step], Mapping[str, str]]] = {
    "compute": (programs.Compute, {"compute": "operations", "size": "size", "efficiency": "efficiency"}),
    "send_to": (
        programs.Send,
        {"send_to": "to", "bytes": "bytes", "at": "at", "buffered": "buffered", "request": "request"},
    ),
    "receive_from": (programs.Receive, {"receive_from": "sender", "at": "at", "request": "request"}),
    "receive_from_any": (programs.ReceiveAny, {"receive_from_any": "sender"}),
    "reply": (programs.Reply, {"reply": "bytes", "buffered": "buffered"}),
    "wait": (programs.Wait, {"wait": "requests"}),
    "broadcast": (programs.Broadcast, {"broadcast": "bytes", **_ROOTED}),
    "scatter": (programs.Scatter, {"scatter": "bytes", **_ROOTED}),
    "gather": (programs.Gather, {"gather": "bytes", **_ROOTED}),
    "alltoall": (programs.AllToAll, {"alltoall": "bytes", **_COLLECTIVE}),
    "reduce": (programs.Reduce, {"reduce": "bytes", **_ROOTED}),
    "allreduce": (programs.AllReduce, {"allreduce": "bytes", **_COLLECTIVE}),
    "allgather": (programs.AllGather, {"allgather": "bytes", **_COLLECTIVE}),
    "barrier": (programs.Barrier, {"barrier": "among", "split": "split"}),
    "read_disk": (programs.ReadDisk, {"read_disk": "bytes"}),
    "write_disk": (programs.WriteDisk, {"write_disk": "bytes"}),
    "repeat": (programs.Repeat, {"repeat": "times", "as": "variable", "do": "steps"}),
    "while": (programs.While, {"while": "condition", **_LOOP}),
    "repeat_until": (programs.RepeatUntil, {"repeat_until": "condition", **_LOOP}),
    "set": (programs.Set.of, {"set": "text"}),
    "if": (programs.If, {"if": "condition", "then": "steps", "else": "otherwise"}),
}
_CALL = "call"  # the key of a call; its other keys are parameters
_NEEDED = {"send_to": ("bytes",), "repeat": ("do",), "while": ("do",), "repeat_until": ("do",), "if": ("then",)}
_EXAMPLES = {
    "count": "count = 4", "program": 'program = [{ compute = "n" }]', "bytes": "bytes = 1024",
    "grid": 'grid = ["px", "py"]',
    "do": 'do = [{ compute = "n" }]', "then": 'then = [{ compute = "n" }]',
}  # fmt: skip
_LABELS = ("to", "sender", "root", "variable", "request")  # fields that hold names
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
    labels, variables, named = table.value("labels", None), table.value("variables", {}), table.value("steps", {})
    if not isinstance(labels, dict) or not labels:
        raise UserError(table.of("labels"), "no [labels.NAME]", "Give at least one, with count and program")
    if not isinstance(variables, dict):
        raise UserError(
            table.of("variables"), "variables is not a table", "Write [variables] and name = value below it"
        )
    functions = table.value("functions", {})
    if not isinstance(functions, dict):
        problem = 'Write [functions] and, for example, "cost(n)" = "n * log2(n)" below it'
        raise UserError(table.of("functions"), "functions is not a table", problem)
    if not isinstance(named, dict):
        raise UserError(table.of("steps"), "steps is not a table", "Write [steps.NAME], and parameters and do below it")
    steps = tuple(_named_steps(name, value, named_steps_place(table.where, name)) for name, value in named.items())
    made = tuple(_label(name, value, label_place(table.where, name)) for name, value in labels.items())
    for name, value in variables.items():
        place = inside(table.where, f", variable {name}", "variables", name)
        for entry in value if isinstance(value, list) else [value]:
            _plain(name, entry, place)
    for name, value in functions.items():
        _plain(name, value, inside(table.where, f", function {name}", "functions", name))
    return Application(table.text("name", path.stem), made, variables, table.where, steps, functions)


def _known_here(key: str, known: Sequence[str]) -> str:
    return " ".join(filter(None, (did_you_mean(key, known), f"Known here: {', '.join(known)}")))


def _table(value: object, kind: str, name: str, needed: Sequence[str], where: str) -> dict[str, object]:
    """Return a table of a label or of named steps, with checked keys."""
    if not isinstance(value, dict):
        raise UserError(where, "not a table", f"Write [{kind}.{name}], and {' and '.join(needed)} below it")
    for key in value:
        if key not in _KEYS[kind]:
            raise UserError(inside(where, "", key), f"unknown key {key!r}", _known_here(key, _KEYS[kind]))
    for key in needed:
        if key not in value:
            raise UserError(where, f"{key!r} is missing", f"Give it, for example {_EXAMPLES[key]}")
    return value


def _label(name: str, value: object, where: str) -> programs.Label:
    has_grid = isinstance(value, dict) and "grid" in value
    table = _table(value, "labels", name, ("program",) if has_grid else ("count", "program"), where)
    grid, in_grid = table.get("grid", []), inside(where, ", grid", "grid")
    if not isinstance(grid, list) or (has_grid and not grid):
        raise UserError(in_grid, "not a list of numbers of processes", f"Write {_EXAMPLES['grid']}")
    if has_grid and "count" in table:
        raise UserError(where, "both a count and a grid", "Leave the count out: it is the product of the grid")
    count = None if has_grid else _number("count", table["count"], where)
    extents = [_placed(in_grid, Expression.of, _number("grid", extent, where)) for extent in grid]
    efficiency = table.get("efficiency")
    if isinstance(efficiency, dict):
        if not efficiency:
            place = inside(where, ", efficiency", "efficiency")
            raise UserError(place, "no processor", "Write for example { xeon-e5-1620 = 0.2 }")
        efficiency = {name: _efficiency(name, value, where) for name, value in efficiency.items()}
    elif efficiency is not None:
        efficiency = _efficiency("efficiency", efficiency, where)
    return _placed(
        inside(where, ", count", "count"),
        programs.Label,
        name,
        count,
        _steps(table["program"], inside(where, ", step ", "program")),
        tuple(extents),
        _periodic(table.get("periodic", False), len(extents), where),
        efficiency,
    )


def _efficiency(key: str, value: object, where: str) -> Expression:
    return _placed(inside(where, ", efficiency", "efficiency"), Expression.of, _number(key, value, where))


def _periodic(value: object, axes: int, where: str) -> tuple[bool, ...]:
    """Return whether each axis is periodic; one value stands for all axes."""
    values = value if isinstance(value, list) else [value] * axes
    if value is True and not axes:
        raise UserError(where, "periodic without a grid", f"Add for example {_EXAMPLES['grid']}")
    if len(values) != axes or not all(isinstance(wrapped, bool) for wrapped in values):
        problem = f"periodic = {value!r} for {axes} axes"
        raise UserError(where, problem, "Write true, false, or a list with one of them for each axis")
    return tuple(values)


def _named_steps(name: str, value: object, where: str) -> programs.NamedSteps:
    table = _table(value, "steps", name, ("do",), where)
    parameters = table.get("parameters", [])
    if not isinstance(parameters, list) or not all(isinstance(parameter, str) for parameter in parameters):
        raise UserError(where, f"parameters = {parameters!r} is not a list of names", 'Write for example ["partner"]')
    if _CALL in parameters:
        raise UserError(where, f"{_CALL!r} cannot be a parameter", "Rename it")
    return programs.NamedSteps(name, tuple(parameters), _steps(table["do"], inside(where, ", step ", "do")))


def _steps(value: object, where: str) -> tuple[programs.Step, ...]:
    """Return a list's steps; ``where`` is the text before a step's number in error messages."""
    if not isinstance(value, list):
        raise UserError(list_place(where), "not a list of steps", 'Write for example [{ compute = "n" }]')
    return tuple(_step(entry, step_place(where, number)) for number, entry in enumerate(value, 1))


def _step(value: object, where: str) -> programs.Step:
    if not isinstance(value, dict):
        raise UserError(where, f"{value!r} is not a step", 'Write for example { compute = "n" }')
    if _CALL in value:
        return _call(value, where)
    kinds = [key for key in value if key in _KINDS]
    if len(kinds) != 1:
        if kinds or not value:
            problem = f"both {' and '.join(kinds)}" if kinds else "no kind of step"
            raise UserError(where, problem, f"Give exactly one of {', '.join((*_KINDS, _CALL))}")
        remedy = nearest(next(iter(value)), (*_KINDS, _CALL), limit=6)
        raise UserError(where, f"no kind of step among {', '.join(value)}", remedy)
    kind = kinds[0]
    made, keys = _KINDS[kind]
    for key in value:
        if key not in keys:
            raise UserError(inside(where, "", key), f"{kind} has no key {key!r}", _known_here(key, tuple(keys)))
    for key in _NEEDED.get(kind, ()):
        if key not in value:
            raise UserError(where, f"{kind} without {key!r}", f"Give it, for example {_EXAMPLES[key]}")
    given = {keys[key]: _field(keys[key], key, entry, where) for key, entry in value.items()}
    return _placed(where, made, **given)


def _call(value: dict[str, object], where: str) -> programs.Call:
    name = value[_CALL]
    if not isinstance(name, str):
        raise UserError(where, f"{_CALL} = {name!r} is not a name", "Give a string")
    given = {key: _number(key, entry, where) for key, entry in value.items() if key != _CALL}
    arguments = {key: _placed(inside(where, f", {key}", key), Expression.of, entry) for key, entry in given.items()}
    return programs.Call(name, arguments)


def _field(name: str, key: str, value: object, where: str) -> object:
    if name in _PROGRAMS:
        return _steps(value, inner_place(where, key))
    if name in ("among", "requests"):
        return _names(key, value, where)
    if key == "receive_from_any" and value is True:
        return ""
    if name in _LABELS and not (isinstance(value, str) and value):
        raise UserError(where, f"{key} = {value!r} is not a name", "Give a string")
    if key == "buffered" and not isinstance(value, bool | str):
        raise UserError(where, f"{key} = {value!r} is not a truth", 'Write true, false, or for example "bytes < 65536"')
    return value if name in _TRUTHS else _number(key, value, where)


def _number(key: str, value: object, where: str) -> object:
    """Return the value unchanged; refuse true and false."""
    if isinstance(value, bool):
        raise UserError(where, f"{key} = {str(value).lower()} is not a number", "Give a number or an expression")
    return value


def _plain(name: str, value: object, where: str) -> None:
    """Refuse what is neither a number nor a text: tables, dates, lists in lists, true and false."""
    if not isinstance(_number(name, value, where), int | float | str):
        raise UserError(where, f"{name} has {value!r}, which is not a number", "Give a number or an expression")


def _names(key: str, value: object, where: str) -> tuple[str, ...]:
    """Return the names of a list: of labels, or of requests to wait for; some keys may have ``true`` for all."""
    if key in ("barrier", "wait") and value is True:
        return ()
    if key == "wait" and isinstance(value, str) and value:
        return (value,)
    if not (isinstance(value, list) and value and all(isinstance(name, str) and name for name in value)):
        what = "requests" if key == "wait" else "labels"
        also = ", or write true for all" if key in ("barrier", "wait") else ""
        raise UserError(where, f"{key} = {value!r} is not a list of {what}", f"Name at least one{also}")
    return tuple(value)


def _placed(where: str, make: Callable[..., _Made], *args: object, **given: object) -> _Made:
    """Call ``make`` with these arguments; put the place before the errors of their expressions."""
    try:
        return make(*args, **given)
    except UserError as err:
        raise err.at(inside(where, f", {err.where}")) from None
