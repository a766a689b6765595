"""Lines of description files in errors: ``app.toml, label p, step 2.1`` becomes ``app.toml:14, label p, step 2.1``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from platforms.command.status import exit_status
from platforms.errors import UserError
from platforms.files.toml_places import Path as Keys
from platforms.files.toml_places import places_of

_ELEMENT = re.compile(r"(?P<file>.+?), (?P<kind>label|steps|variable|function) (?P<name>\w+)")
_STEP = re.compile(r",(?: (?P<named>\w+))? step (?P<place>[\d.else]+)")
_TABLES = {"label": ("labels", "program"), "steps": ("steps", "do")}


def status_with_lines(command: Callable[[], int]) -> int:
    """Run a command as platforms.command.status.exit_status, with the lines of descriptions in its errors."""

    def naming() -> int:
        with named_lines():
            return command()

    return exit_status(naming)


@contextmanager
def named_lines() -> Iterator[None]:
    """Add the line to the place of an error that is raised inside and names an element of a description.

    Raises:
        UserError: The error with its line.
    """
    try:
        yield
    except UserError as err:
        named = with_line(err)
        if named is err:
            raise
        raise named from None


def with_line(error: UserError) -> UserError:
    """Return the error with its line, if its place names an element of a description, and otherwise itself."""
    where = _with_line(error.where)
    return error if where is None else UserError(where, error.problem, error.remedy)


def _with_line(where: str) -> str | None:
    """Return a place with the number of its line, from 1; None: it names no element of a file."""
    found = _ELEMENT.match(where)
    if found is None:
        return None
    file = found["file"]
    try:
        text = Path(file).read_text("utf-8")
        values = tomllib.loads(text)
        line = places_of(text).line_of(_keys(where, found, values))
    except (OSError, ValueError):  # no file, as for applications of Python programs
        return None
    return None if line is None else f"{file}:{line}{where[len(file) :]}"


def _keys(where: str, found: re.Match[str], values: Mapping[str, Any]) -> Keys:
    """Return the keys of the element of a file that a place names."""
    kind, name = found["kind"], found["name"]
    if kind in ("variable", "function"):
        given = values.get(f"{kind}s", {})
        return (f"{kind}s", next((one for one in given if one.partition("(")[0].strip() == name), name))
    steps = list(_STEP.finditer(where))
    if steps and steps[-1]["named"]:  # in named steps that a step calls
        kind, name = "steps", steps[-1]["named"]
    table, program = _TABLES[kind]
    if not steps:
        rest = re.match(r", (\w+)", where[found.end() :])
        return (table, name, rest[1]) if rest else (table, name)
    return (table, name, program, *_inside(values.get(table, {}).get(name, {}).get(program), steps[-1]["place"]))


def _inside(program: object, place: str) -> Keys:
    """Return the keys of a step inside a program, as far as the program has them."""
    keys: list[str | int] = []
    inner: Any = program
    for part in place.strip(".").split("."):
        if isinstance(inner, dict):
            key = "else" if part == "else" else "do" if "do" in inner else "then"
            keys.append(key)
            inner = inner.get(key)
        if part != "else":
            number = int(part) - 1
            if not isinstance(inner, list) or number >= len(inner):
                break
            keys.append(number)
            inner = inner[number]
    return tuple(keys)
