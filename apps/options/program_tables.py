"""Tables of TOML files that name a problem: a kernel with its class or size, or a program of the user's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from apps.options.programs import BUILD
from apps.programs.kernel import named_kernel
from apps.programs.own_program import read_program
from apps.programs.problem import Problem, own_problem, problem, sized_problem
from platforms.addons import provided
from platforms.errors import PlatformError, UserError
from platforms.files.checked_toml import CheckedTable

OF_KERNEL = ("app", "class", "size", "params")
OF_PROGRAM = ("file", "arguments", "iterations", "flags", "build", "status", "time_from", "period", "name")
KEYS = (*OF_KERNEL, *OF_PROGRAM)
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,39}", re.ASCII)


def problem_of_table(entry: CheckedTable, folder: Path) -> Problem:
    """Return the problem of a table with the keys KEYS, which mean the same as the options of programs.

    Args:
        entry: The table: ``app`` with ``class``, or with ``size`` and ``params``; or ``file`` with the other keys.
        folder: Folder to which the name of a program's file is relative.

    Raises:
        UserError: A key is missing, wrong or does not go with the others; the error names the file and the key.
    """
    if entry.has("file") == entry.has("app"):
        remedy = 'Give one of them: app = "cg" for a kernel, file = "halo.c" for a program of your own'
        raise PlatformError(entry.where, "'app' or 'file' is needed, and one of them only", remedy)
    others = OF_PROGRAM if entry.has("app") else OF_KERNEL
    wrong = next((key for key in others if entry.has(key)), None)
    if wrong is not None:
        given = "app" if entry.has("app") else "file"
        raise PlatformError(entry.at(wrong), f"{wrong!r} does not go with {given!r}", "Drop one")
    return _kernel(entry) if entry.has("app") else _program(entry, folder)


@contextmanager
def said_of(where: str) -> Iterator[None]:
    """Add the place in the file to any error that is raised within the block."""
    try:
        yield
    except UserError as err:
        raise PlatformError(f"{where}: {err.where}", err.problem, err.remedy) from None


def _program(entry: CheckedTable, folder: Path) -> Problem:
    path = folder / entry.text("file")
    status = entry.integer("status", 0)
    if not 0 <= status < 126:
        raise PlatformError(
            entry.of("status"), f"{status} is not an exit status of a program", "Give one from 0 to 125"
        )
    with said_of(entry.where):
        if entry.has("build"):
            provided(BUILD)(str(path), entry.text("build"))
        program = read_program(
            path,
            entry.text("arguments", ""),
            entry.integer("iterations") if entry.has("iterations") else None,
            flags=entry.text("flags", ""),
            status=status,
            time_from=entry.text("time_from") if entry.has("time_from") else None,
        )
        if entry.has("period"):
            program = program.in_periods(entry.integer("period"))
    name = entry.text("name", program.name)
    if _NAME.fullmatch(name) is None:
        raise UserError(entry.of("name"), f"name {name!r}", "Give at most 40 letters, digits, dots, - or _")
    return own_problem(replace(program, name=name))


def _kernel(entry: CheckedTable) -> Problem:
    name = entry.text("app")
    with said_of(entry.where):
        kernel = named_kernel(name)
    if entry.has("class") == entry.has("size"):
        raise PlatformError(entry.where, "'class' or 'size' is needed, and one of them only", "Give one of them")
    if entry.has("class"):
        if entry.has("params"):
            raise PlatformError(entry.where, "'params' goes with 'size'", "Drop it")
        if kernel.size_parameter is not None:
            raise PlatformError(entry.where, f"'class', but {name} has no classes", "Give its 'size'")
        with said_of(entry.where):
            return problem(name, entry.text("class"))
    size, params = entry.integer("size"), _params(entry)
    with said_of(entry.where):
        asked = sized_problem(name, size, **params)
    if asked.iterative and not asked.open_ended and (iterations := asked.iterations_on(1)) < 1:
        where = entry.at("params")
        raise PlatformError(where, f"{kernel.iterations_parameter} = {iterations}", "Give at least 1, or leave it out")
    return asked


def _params(entry: CheckedTable) -> dict[str, int | float | str]:
    params = entry.value("params", {})
    if not isinstance(params, dict):
        raise PlatformError(entry.of("params"), f"params = {params!r} is not a table", "Write for example { nb = 32 }")
    for key, value in params.items():
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise PlatformError(entry.at("params"), f"{key} = {value!r}", "Give a number or a text")
    return params
