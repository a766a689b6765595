"""Suites: campaign files of a project, read into a form and written back without losing comments or order."""

from __future__ import annotations

import hashlib
import re
import threading
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from platforms.errors import UserError
from platforms.files.checked_toml import read_toml
from platforms.files.writing import write_whole
from predictor.families import VARIANTS
from validation.workbench.project import application_suites
from validation.workbench.project.application_suites import is_of_applications
from validation.workbench.project.folder import Project, checked_name, file_within, place_within
from validation.workbench.project.own_programs import change_program, shown_program
from validation.workbench.project.platform_files import located
from validation.workbench.project.ranges import numbers_of, text_of

ENDING = ".toml"
LISTS = ("networks", "apps", "classes", "mappings", "predictors")  # keys whose values are chosen by name
COUNTS = ("ranks", "ranks_per_host")  # keys whose values are numbers
_FORM = ("scenarios", "platforms", *LISTS, *COUNTS)
_FLAG = re.compile(r"-D\w+(=[\w.+-]*)?|-O\w*|-l[\w+-]+|-std=[\w+]+", re.ASCII)
_CODE = (".so", ".py", ".cpp", ".cc", ".cxx", ".c++", ".C")

SAVING = threading.Lock()  # of all suites: nobody writes between the look at a file and its change


@dataclass(frozen=True)
class SuiteForm:
    """The part of a suite that the panel shows."""

    name: str = ""
    platforms: tuple[str, ...] = ()  # names in the project's list of platforms
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by key of LISTS
    counts: Mapping[str, str] = field(default_factory=dict)  # by key of COUNTS, as the user writes them
    program: Mapping[str, str] = field(default_factory=dict)  # by key of own_programs.KEYS; empty: none
    others: tuple[str, ...] = ()  # keys of the file that the panel does not show; they are kept


def names(project: Project) -> list[str]:
    """Return the names of the suites of a project, in alphabetical order."""
    return sorted(path.stem for path in project.suites.glob(f"*{ENDING}") if path.is_file())


def is_suite_of_applications(project: Project, name: str) -> bool:
    """Return whether the file of a suite is one of applications.

    Raises:
        UserError: There is no such suite.
    """
    path = file_within(project.suites, f"{name}{ENDING}", (ENDING,))
    return is_of_applications(path.read_text("utf-8", errors="replace"))


def read_form(project: Project, name: str) -> SuiteForm:
    """Return the form of a suite.

    Raises:
        UserError: There is no such suite, or its file is wrong.
    """
    path = file_within(project.suites, f"{name}{ENDING}", (ENDING,))
    table = read_toml(path, "suite")
    chosen = [*_texts(table, "scenarios"), *_texts(table, "platforms")]
    return SuiteForm(
        name=name,
        platforms=tuple(Path(entry).name if "/" in entry else entry for entry in chosen),
        lists={key: tuple(_texts(table, key)) for key in LISTS},
        counts={key: text_of([entry for entry in table.get(key, []) if isinstance(entry, int)]) for key in COUNTS},
        program=shown_program(table) or {},
        others=tuple(key for key in table if key not in _FORM and (key != "programs" or shown_program(table) is None)),
    )


def text_of_form(project: Project, form: SuiteForm) -> str:
    """Return the campaign file of a form: the suite's file, if there is one, with the form's keys changed in place.

    Raises:
        UserError: A value of the form is wrong.
    """
    # Imported here for a quick start: pages that only list suites do not need it.
    import tomlkit

    path = project.suites / f"{form.name}{ENDING}"
    if form.name and path.is_file():
        if is_of_applications(path.read_text("utf-8", errors="replace")):
            raise UserError(f"suite {form.name}", "this is a suite of applications", "Give another name")
        document = tomlkit.parse(file_within(project.suites, path.name, (ENDING,)).read_text("utf-8"))
    else:
        document = tomlkit.document()
        document.add(tomlkit.comment("A suite of the workbench; gridval series campaign runs it too."))
    wanted = _wanted(project, form)
    for key in _FORM:
        if not wanted[key]:
            document.pop(key, None)
        elif list(document.get(key, [])) != wanted[key]:
            document[key] = wanted[key]
    change_program(document, project, form.program)
    return tomlkit.dumps(document)


def _wanted(project: Project, form: SuiteForm) -> dict[str, list[Any]]:
    places = {name: located(project, name) for name in form.platforms}
    files = {name: f"../platforms/{name}" for name, place in places.items() if place != name}
    scenarios = [files.get(name, name) for name in places if not name.endswith(".xml")]
    return {
        "scenarios": scenarios,
        "platforms": [files[name] for name in places if name.endswith(".xml")],
        **{key: list(form.lists.get(key, ())) for key in LISTS},
        **{key: numbers_of(form.counts.get(key, ""), key.replace("_", " ")) for key in COUNTS},
    }


def stamp_of(project: Project, name: str) -> str:
    """Return what tells the content of a suite's file from others; empty: there is no such file."""
    try:
        content = file_within(project.suites, f"{name}{ENDING}", (ENDING,)).read_bytes()
    except (UserError, OSError):
        return ""
    return hashlib.sha256(content).hexdigest()[:16]


def save(project: Project, name: str, text: str, seen: str | None = None) -> str:
    """Write the file of a suite and return its name.

    Args:
        project: The project.
        name: The name of the suite.
        text: Its text.
        seen: The stamp of the file that was changed; empty: there was none; None: whatever is there is replaced.

    Raises:
        UserError: The name is not plain, or somebody else has made or changed the file meanwhile.
    """
    name = checked_name(name, "name of the suite")
    path = place_within(project.suites, f"{name}{ENDING}")
    with SAVING:
        now = stamp_of(project, name)
        if seen is not None and now not in ("", seen) and path.read_bytes() != text.encode():
            problem = "it was changed meanwhile" if seen else "there is a suite of this name already"
            raise TakenError(f"suite {name}", problem, "Give another name, open that suite, or replace it")
        write_whole(path, text.encode())
    return name


class TakenError(UserError):
    """A suite of this name was made or changed by somebody else."""


def check_files(project: Project, text: str) -> None:
    """Check that a suite names only files of the project, and code only where the server allows it.

    Raises:
        UserError: A file lies outside of the project folder, or code is named without --allow-programs.
    """
    if is_of_applications(text):
        application_suites.check_files(project, text)
        return
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as err:
        raise UserError("suite", f"not TOML: {err}", "Correct the file") from err
    for key in ("scenarios", "platforms"):
        for name in _texts(table, key):
            if Path(name).suffix in _CODE:
                _check_code(project, key, name)
            elif "/" not in name and Path(name).suffix not in (".toml", ".xml"):
                continue  # the name of a scenario
            _check_within(project, key, name)
    programs = table.get("programs", [])
    for program in programs if isinstance(programs, list) else [programs]:
        if isinstance(program, dict) and "build" in program:
            problem = "its command for a shell, which the workbench does not run"
            raise UserError("suite, programs, build", problem, "Build the program first, and name the executable")
        if isinstance(program, dict) and "file" not in program:
            continue  # a kernel
        name = program["file"] if isinstance(program, dict) else str(program)
        _check_code(project, "programs", str(name))
        _check_within(project, "programs", str(name))
        _check_flags(program.get("flags", "") if isinstance(program, dict) else "")
    for name in _texts(table, "predictors"):
        if is_code(name):
            _check_code(project, "predictors", name)
            if name.rpartition(":")[0].endswith(".py"):
                _check_within(project, "predictors", name.rpartition(":")[0])


def is_code(predictor: str) -> bool:
    """Return whether the name of a predictor is that of code of a user, such as ``mine.py:NAME``."""
    return ":" in predictor and predictor not in VARIANTS


def _check_code(project: Project, key: str, name: str) -> None:
    if not project.allow_programs:
        problem = f"{name!r} is code, which this server does not run"
        raise UserError(f"suite, {key}", problem, "Start the workbench with --allow-programs if you trust it")


def _check_flags(flags: object) -> None:
    """Refuse flags of the compiler other than those that define a value or ask for speed or a library."""
    for word in str(flags).split():
        if _FLAG.fullmatch(word) is None:
            raise UserError("suite, programs", f"flag {word!r}", "Use -D, -O, -l and -std= only in the workbench")


def _check_within(project: Project, key: str, name: str) -> None:
    if not (project.suites / name).resolve().is_relative_to(project.folder):
        problem = f"{name!r} lies outside of the project folder"
        raise UserError(f"suite, {key}", problem, "Copy the file into the folder platforms")


def _texts(table: Mapping[str, Any], key: str) -> list[str]:
    value = table.get(key, [])
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []
