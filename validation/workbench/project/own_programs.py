"""Programs of the user in suites: the one that the panel shows, and the files of the project that it may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from platforms.errors import UserError
from validation.workbench.project.folder import Project, file_within

KEYS = ("file", "arguments", "iterations")  # of a program in the panel
ENDINGS = ("", ".c", ".cc", ".cpp", ".cxx", ".C", ".f90", ".F90", ".f", ".F", ".py")
_FOLDER = "../programs/"


def program_files(project: Project) -> list[str]:
    """Return the names of the programs of a project, in alphabetical order."""
    if not project.programs.is_dir():
        return []
    files = []
    for path in sorted(project.programs.iterdir()):
        try:
            files.append(file_within(project.programs, path.name, ENDINGS).name)
        except UserError:
            continue  # a folder, a header, or another file
    return files


def shown_program(table: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the program of a suite as the panel shows it, empty without one; None: the panel cannot show it."""
    programs = table.get("programs", [])
    if not programs:
        return {}
    program = programs[0] if isinstance(programs, list) and len(programs) == 1 else None
    plain = (
        isinstance(program, Mapping) and set(program) <= set(KEYS) and str(program.get("file", "")).startswith(_FOLDER)
    )
    if program is None or not plain:
        return None
    return {key: str(program.get(key, "")).removeprefix(_FOLDER if key == "file" else "") for key in KEYS}


def change_program(document: Any, project: Project, wanted: Mapping[str, str]) -> None:
    """Write the program of the panel into a suite, in place; a program that the panel cannot show stays.

    Args:
        document: The suite, as tomlkit reads it.
        project: The project.
        wanted: The program by KEYS; without a file: none.

    Raises:
        UserError: There is no such file, or the number of iterations is none.
    """
    # Imported here for a quick start: pages that only list suites do not need it.
    import tomlkit

    before = shown_program(document)
    if before is None or before == wanted or not (before or wanted.get("file")):
        return
    if not wanted.get("file"):
        document.pop("programs")
        return
    name = file_within(project.programs, wanted["file"], ENDINGS).name
    if not before:
        document["programs"] = tomlkit.aot()
        document["programs"].append(tomlkit.table())
    table = document["programs"][0]
    iterations = wanted.get("iterations", "").strip()
    if iterations and not (iterations.isascii() and iterations.isdecimal() and len(iterations) <= 9):
        raise UserError("iterations of the program", f"{iterations!r} is not a whole number", "Give one, or none")
    values = {"file": _FOLDER + name, "arguments": wanted.get("arguments", "").strip(), "iterations": iterations}
    for key, value in values.items():
        if not value:
            table.pop(key, None)
        elif str(table.get(key, "")) != value:
            table[key] = int(value) if key == "iterations" else value
