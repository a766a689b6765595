"""Suites of applications of blocks: files of lists of applications, systems, counts, variables, models and power rules.

Every combination is a run, which each model evaluates::

    applications = ["../applications/master-slave.toml"]
    systems = ["../platforms/figure-1.toml", "grid3x9"]
    models = ["simgrid", "hardware"]
    powers = ["idle-waiting"]
    policies = ["fastest"]
    objectives = ["time", "energy"]
    failure_rate = 1e-9
    simulate = true

    [counts]
    slave1 = [100, "1000-12800*2"]

    [variables]
    operations = [1e10, "2 * task_bytes"]
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from platforms.errors import Place, UserError, nearest
from platforms.files.checked_toml import toml_values
from platforms.system.scheduler import POLICIES
from predictor.blocks.names import HARDWARE, POWER_RULES, SIMGRID
from validation.workbench.project.folder import Project, file_within
from validation.workbench.project.ranges import numbers_of

MODELS = (SIMGRID, HARDWARE, "galera+", "galera", "kask")
OBJECTIVES = ("time", "energy", "success")
LISTS = ("applications", "systems", "models", "powers", "policies", "objectives")
TABLES = ("counts", "variables")
SIMULATE, FAILURE_RATE = "simulate", "failure_rate"
MOST_VALUES = 1000  # of a name
MOST_RUNS = 10_000  # of a suite
_KNOWN = {"models": (), "powers": POWER_RULES, "policies": tuple(POLICIES), "objectives": OBJECTIVES}
_DEFAULTS = {
    "models": (SIMGRID,), "powers": (POWER_RULES[0],), "policies": (next(iter(POLICIES)),), "objectives": ("time",)
}  # fmt: skip
_USUAL = {"model": SIMGRID, "power": POWER_RULES[0], "policy": next(iter(POLICIES))}
_KEYS = (*LISTS, *TABLES, SIMULATE, FAILURE_RATE)
_APPLICATIONS, _PLATFORMS = "../applications/", "../platforms/"


@dataclass(frozen=True)
class ApplicationSuite:
    """The lists of a suite; names of files are relative to the folder of the suites."""

    applications: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    models: tuple[str, ...] = _DEFAULTS["models"]
    powers: tuple[str, ...] = _DEFAULTS["powers"]
    policies: tuple[str, ...] = _DEFAULTS["policies"]
    objectives: tuple[str, ...] = _DEFAULTS["objectives"]
    counts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by label
    variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by name
    simulate: bool = False
    failure_rate: float | None = None  # failures per second of a node; None: those of the model or the hardware


@dataclass(frozen=True)
class ApplicationForm:
    """A suite as the panel shows it."""

    name: str = ""
    applications: tuple[str, ...] = ()  # names of files in the folder of the applications
    systems: tuple[str, ...] = ()  # names in the project's list of platforms
    lists: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # models, powers, policies, objectives
    counts: Mapping[str, str] = field(default_factory=dict)  # by label, as the user writes them
    variables: Mapping[str, str] = field(default_factory=dict)  # by name, as the user writes them
    simulate: bool = False
    failure_rate: str = ""  # as the user writes it


def words_of(suite: ApplicationSuite, application: str, names: Collection[str], models: Sequence[str]) -> list[str]:
    """Return the words after ``gridval blocks run`` for one application of a suite, in the project folder.

    Args:
        suite: The suite.
        application: One of its applications.
        names: The labels and variables of the application.
        models: The models.
    """
    words = [within_project(application)]
    lists = (("system", list(map(within_project, suite.systems))), ("policy", suite.policies), ("power", suite.powers),
             ("model", list(map(within_project, models))))  # fmt: skip
    for option, chosen in lists:
        words += [f"--{option}={chosen[0]}"] if option == "system" or chosen[0] != _USUAL[option] else []
        words += [f"--vary={option}={','.join(chosen)}"] if len(chosen) > 1 else []
    words += [] if suite.failure_rate is None else [f"--failure-rate={written(suite.failure_rate)}"]
    for option, table in (("count", suite.counts), ("set", suite.variables)):
        for name, values in table.items():
            if name in names:
                word = f"--{option}={name}={values[0]}"
                words.append(word if len(values) == 1 else f"--vary={name}={','.join(values)}")
    return words


def within_project(name: str) -> str:
    """Return the name of a file of a suite as it is called in the project folder."""
    return name.removeprefix("../")


def is_of_applications(text: str) -> bool:
    """Return whether the text of a suite is one of applications, and not a campaign."""
    try:
        return "applications" in tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False


def read_suite(text: str) -> ApplicationSuite:
    """Return the suite of a text.

    Raises:
        UserError: A key or a value is wrong.
    """
    table = toml_values(text, "suite")
    for key in table:
        if key not in _KEYS:
            raise UserError(f"suite, {key}", "no such key", nearest(key, _KEYS, limit=12))
    lists = {key: _names(table, key) or _DEFAULTS.get(key, ()) for key in LISTS}
    for key, known in _KNOWN.items():
        for entry in lists[key]:
            if known and entry not in known:
                raise UserError(f"suite, {key}", f"{entry!r} is not known", nearest(entry, known))
    for key in ("applications", "systems"):
        if not lists[key]:
            raise UserError(f"suite, {key}", "there are none", "Give at least one")
        called = [Path(name).stem if "/" in name else name for name in lists[key]]
        if len(set(called)) < len(called):
            raise UserError(f"suite, {key}", "two have the same name", "Rename the file of one")
    if not isinstance(table.get(SIMULATE, False), bool):
        raise UserError(f"suite, {SIMULATE}", "neither true nor false", "Write for example simulate = true")
    return ApplicationSuite(
        **lists, counts=_values(table, "counts"), variables=_values(table, "variables"),
        simulate=table.get(SIMULATE, False), failure_rate=rate_of(str(table.get(FAILURE_RATE, ""))),
    )  # fmt: skip


def _names(table: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(entry, str) and entry for entry in value):
        raise UserError(f"suite, {key}", "not a list of names", f'Write for example {key} = ["..."]')
    if len(set(value)) < len(value):
        raise UserError(f"suite, {key}", "a name is given twice", "Keep one")
    return tuple(value)


def _values(table: Mapping[str, Any], key: str) -> dict[str, tuple[str, ...]]:
    texts = table.get(key, {})
    if not isinstance(texts, dict):
        raise UserError(f"suite, {key}", "not a table", f"Write it as [{key}] with a line for each name")
    made = counts_of if key == "counts" else variables_of
    places = {name: Place(f"suite, {key}, {name}", None, (key, name)) for name in texts}
    return {name: made(_text(value, places[name]), places[name]) for name, value in texts.items()}


def _text(value: object, where: str) -> str:
    """Return a number, a text or a list of both as the panel shows it."""
    values: list[Any] = value if isinstance(value, list) else [value]
    if not values or not all(isinstance(entry, int | float | str) and not isinstance(entry, bool) for entry in values):
        raise UserError(where, "not a number, an expression or a list of them", "Write for example [1, 100]")
    return ", ".join(entry if isinstance(entry, str) else written(entry) for entry in values)


def written(number: float) -> str:
    """Return a number as a user would write it.

    >>> written(2e10), written(0.25), written(100), written(12.0)
    ('2e10', '0.25', '100', '12.0')
    """
    text = repr(number)
    if isinstance(number, int) or not 1e6 <= abs(number) < math.inf:
        return text
    digits, _, power = f"{number:.15e}".partition("e")
    short = f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    return short if float(short) == number and len(short) < len(text) else text


def counts_of(text: str, where: str) -> tuple[str, ...]:
    """Return the numbers of processes of a text such as ``1, 100-800*2``.

    Raises:
        UserError: It is no list of numbers and ranges.
    """
    counts = tuple(map(str, numbers_of(text, where)))
    if not counts:
        raise UserError(where, "no number", "Write for example 1, 100-800*2")
    return counts


def variables_of(text: str, where: str) -> tuple[str, ...]:
    """Return the values of a text such as ``1e9, 2 * rounds``; a single one may have commas: ``min(1, rounds)``.

    Raises:
        UserError: A value is empty or given twice, or cannot be varied on a command line.
    """
    texts = [part.strip() for part in _parts(text)]
    if "" in texts:
        raise UserError(where, "an empty value", "Write for example 1e9, 2e9")
    if len(set(texts)) < len(texts) or len(texts) > MOST_VALUES:
        problem = "a value is given twice" if len(texts) <= MOST_VALUES else f"more than {MOST_VALUES} values"
        raise UserError(where, problem, "Give fewer")
    for entry in texts:
        if len(texts) > 1 and ("," in entry or ":" in entry):
            raise UserError(
                where, f"{entry!r} has a comma or a colon", "Give it alone, or write it into the application"
            )
        if not entry.isprintable():
            raise UserError(where, f"{entry!r} is not one line of text", "Write for example 1e9, 2e9")
    return tuple(texts)


def rate_of(text: str) -> float | None:
    """Return the failure rate that a text gives, 1/s; None: it gives none.

    Raises:
        UserError: It is no rate.
    """
    if not text.strip():
        return None
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not 0 <= rate < math.inf:
        raise UserError(f"suite, {FAILURE_RATE}", f"{text!r} is not a rate", "Give failures per second, 0 or more")
    return rate


def _parts(text: str) -> list[str]:
    """Return a text cut at its commas outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if letter == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def read_form(project: Project, name: str) -> ApplicationForm:
    """Return the form of a suite's file.

    Raises:
        UserError: There is no such suite, or its file is wrong.
    """
    text = file_within(project.suites, f"{name}.toml", (".toml",)).read_text("utf-8")
    suite, table = read_suite(text), toml_values(text, "suite")
    shown = {
        key: {name: _text(value, key) for name, value in table.get(key, {}).items()} for key in TABLES
    }  # as they are written, ranges too
    return ApplicationForm(
        name=name,
        applications=tuple(Path(application).name for application in suite.applications),
        systems=tuple(Path(system).name if "/" in system else system for system in suite.systems),
        lists={key: getattr(suite, key) for key in _KNOWN},
        counts=shown["counts"],
        variables=shown["variables"],
        simulate=suite.simulate,
        failure_rate="" if suite.failure_rate is None else written(suite.failure_rate),
    )


def text_of_form(project: Project, form: ApplicationForm) -> str:
    """Return the file of a form: the suite's file, if there is one, with what has changed in the form.

    Raises:
        UserError: A value of the form is wrong, or the file of this name is another kind of suite.
    """
    # Imported here for a quick start: pages that only list suites do not need it.
    import tomlkit

    for key in ("applications", "systems"):
        if not getattr(form, key):
            raise UserError(key, "none is chosen", "Choose at least one")
    path = project.suites / f"{form.name}.toml"
    document = tomlkit.document()
    if form.name and path.is_file():
        text = file_within(project.suites, path.name, (".toml",)).read_text("utf-8")
        if not is_of_applications(text):
            raise UserError(f"suite {form.name}", "this is a suite of kernels", "Give another name")
        document = tomlkit.parse(text)
    else:
        document.add(tomlkit.comment("A suite of applications of the workbench (docs/workbench.md)."))
    for key, wanted in _wanted(project, form).items():
        before = document.get(key, [])
        if (not wanted and key in _KNOWN) or (key not in document and wanted == list(_DEFAULTS.get(key, ()))):
            document.pop(key, None)
        elif list(before) != wanted:
            document[key] = wanted
    if form.simulate or document.get(SIMULATE):
        document[SIMULATE] = form.simulate
    rate = rate_of(form.failure_rate)
    if rate is None:
        document.pop(FAILURE_RATE, None)
    elif document.get(FAILURE_RATE) != rate:
        document[FAILURE_RATE] = rate
    for key in TABLES:
        _change_table(document, key, getattr(form, key))
    return tomlkit.dumps(document)


def _wanted(project: Project, form: ApplicationForm) -> dict[str, list[str]]:
    # Imported here for a quick start: pages that only list suites do not need it.
    from validation.workbench.project.platform_files import located

    applications = [file_within(project.applications, name, (".toml",)).name for name in form.applications]
    systems = []
    for name in form.systems:
        if name.endswith(".xml"):
            raise UserError(f"system {name!r}", "not a system file or a scenario", "Choose one from the list")
        systems.append(name if located(project, name) == name else _PLATFORMS + name)
    lists = {key: list(form.lists.get(key, ())) for key in _KNOWN}
    return {"applications": [_APPLICATIONS + name for name in applications], "systems": systems, **lists}


def _change_table(document: Any, key: str, wanted: Mapping[str, str]) -> None:
    """Write the values of names into a table, each only if it is another one than before."""
    # Imported here for a quick start: pages that only list suites do not need it.
    import tomlkit

    made = counts_of if key == "counts" else variables_of
    texts = {name: made(text, f"{key}, {name}") for name, text in wanted.items() if text.strip()}
    table = document.get(key)
    if table is None and texts:
        table = document[key] = tomlkit.table()
    for name in [name_there for name_there in table or {} if name_there not in texts]:
        table.pop(name)
    for name, values in texts.items():
        if name in table and made(_text(table[name], name), name) == values:
            continue
        parts = [part.strip() for part in wanted[name].split(",")] if key == "counts" else list(values)
        typed = [_number(part) for part in parts if part]
        table[name] = typed[0] if len(typed) == 1 else typed
    if table is not None and not table:
        document.pop(key)


def _number(text: str) -> int | float | str:
    """Return the number that TOML writes just like the text, or the text."""
    if re.fullmatch(r"0|[1-9]\d{0,17}", text, re.ASCII):
        return int(text)
    exact = re.fullmatch(r"\d+(\.\d+)?(e[+-]?\d+)?", text, re.ASCII) is not None
    return float(text) if exact and repr(float(text)) == text else text


def check_files(project: Project, text: str) -> None:
    """Check that a suite names only files of the project.

    Raises:
        UserError: A file is not in its folder, or the suite is wrong.
    """
    suite = read_suite(text)
    for name in suite.applications:
        _check_within(name, _APPLICATIONS, project.applications, (".toml",))
    for name in suite.systems:
        if "/" in name or name.endswith((".toml", ".xml")):
            _check_within(name, _PLATFORMS, project.platforms, (".toml",))
    for name in suite.models:
        if name not in MODELS:
            _check_within(name, _PLATFORMS, project.platforms, (".json",))


def _check_within(name: str, begin: str, folder: Path, endings: Sequence[str]) -> None:
    try:
        if not name.startswith(begin):
            raise UserError(name, f"not in the folder {folder.name}", f"Write {begin}{Path(name).name}")
        file_within(folder, name.removeprefix(begin), tuple(endings))
    except UserError as err:
        raise UserError(f"suite, {name!r}", err.problem, err.remedy) from None
