"""Checks of the values in a ``kernel.toml``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from apps.errors import KernelError

IN_RULES = "rules.py"  # the value of a key whose value is computed there (apps/programs/rules.py)
# What traffic.py declares: what the kernel does; or what it is to be expected to do, where messages depend on the data;
# or what it does on ranks that begin without the barrier of other kernels, so that only tests and its reference use it.
EXACT, EXPECTED, NO_BARRIER = TRAFFIC = ("exact", "expected", "no barrier")


def check_values(path: Path, data: Mapping[str, Any]) -> None:
    """Check types and ranges of all values; their keys are known.

    Raises:
        KernelError: A value does not fit, a source is missing, or the iterations are no parameter.
    """
    for key, value in data.items():
        fits, wanted = _CHECKS[key]
        if not fits(value):
            raise KernelError(str(path), f"{key} = {_short(value)} does not fit", f"Give {wanted}")
    for key, file in (("bytes_per_flop", IN_RULES), ("ranks", IN_RULES), ("traffic", "traffic.py")):
        declared = key in data and (file != IN_RULES or data[key] == file)
        if declared and not (path.parent / file).is_file():
            raise KernelError(str(path), f"{key} = {data[key]!r}, and there is no {file} beside it", f"Add {file}")
    if "traffic" not in data and (path.parent / "traffic.py").is_file():
        raise KernelError(str(path), "there is a traffic.py beside it, and no key traffic", f"Give {_listed(TRAFFIC)}")
    for key in ("calibration_iterations", "solo_iterations"):
        if key in data and "iterations" not in data:
            raise KernelError(str(path), f"{key} without iterations", "Leave it out")
    if "solo_size" in data and "size" not in data:
        raise KernelError(str(path), "solo_size of a kernel with classes", "Leave it out")
    for source in data["sources"]:
        if not (path.parent / source).is_file():
            raise KernelError(str(path), f"there is no source {source!r} beside it", "Correct sources")
    problems = data.get("classes", {"parameters": data.get("parameters", {})})
    for name, values in problems.items():
        for key in filter(None, [data.get("iterations")]):
            if not isinstance(values.get(key), int) or isinstance(values[key], bool):
                problem = f"{name} has no whole number {key!r}, which iterations names"
                raise KernelError(str(path), problem, "Add it, or leave iterations out")


def _listed(names: tuple[str, ...]) -> str:
    return f"one of {', '.join(names)}"


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != "" and value.isprintable()


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _positive(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _parameters(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_text, value)) and all(_number(v) or _text(v) for v in value.values())


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "title": (_text, "a text in one line"),
    "sources": (lambda value: isinstance(value, list) and bool(value) and all(map(_text, value)), "a list of C files"),
    "reference_efficiency": (lambda value: _number(value) and 0 < value <= 1, "a share above 0 and up to 1"),
    "bytes_per_flop": (
        lambda value: (_number(value) and 0 <= value < float("inf")) or value == IN_RULES,
        f"a number from 0 on, or {IN_RULES!r}",
    ),
    "iterations": (_text, "the name of a parameter"),
    "iterations_table": (lambda value: isinstance(value, bool), "true or false"),
    "uniform": (lambda value: isinstance(value, bool), "true or false"),
    "shares": (lambda value: isinstance(value, bool), "true or false"),
    "ranks": (lambda value: value == IN_RULES, f"{IN_RULES!r}, or nothing if any number will do"),
    "traffic": (lambda value: value in TRAFFIC, _listed(TRAFFIC)),
    "size": (_text, "the name of the parameter N"),
    "most_size": (_positive, "a whole number above 0"),
    "calibration_size": (_positive, "a whole number above 0"),
    "calibration_iterations": (_positive, "a whole number above 0"),
    "solo_size": (_positive, "a whole number above 0"),
    "solo_iterations": (_positive, "a whole number above 0"),
    "parameters": (_parameters, "a table of numbers and words"),
    "classes": (
        lambda value: isinstance(value, dict) and bool(value) and all(map(_parameters, value.values())),
        "at least one table of numbers and words",
    ),
}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."
