"""Requests to a worker about files that are being edited: check systems and applications, and evaluate applications."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from platforms.command.values import parsed
from platforms.errors import Place, UserError
from platforms.files.checked_toml import read_toml, toml_values
from platforms.grids.scenario import is_system_file
from platforms.system.cli import price_of, watts_of
from platforms.system.description import read_system
from platforms.system.model import System
from platforms.system.scheduler import schedule
from platforms.system.xml import system_xml
from predictor.blocks.application import Application
from predictor.blocks.description import read_application
from predictor.blocks.options import machine_from_request, setting_from_request
from predictor.blocks.run_command import COMMAND, BlocksRequest, result_json, result_text
from validation.workbench.work.all_errors import ApplicationMender, SystemMender, all_errors


def check_system(
    folder: Path, name: str, text: str, counts: Mapping[str, int], policy: str
) -> Iterator[dict[str, Any]]:
    """Yield what a system has and where processes are placed on it, or all that is wrong.

    Args:
        folder: The project folder.
        name: The name of the file.
        text: Its text.
        counts: Numbers of processes to place, by label.
        policy: Scheduling policy.
    """
    try:
        system = _system(folder, name, text)
    except UserError as err:
        system_mender = SystemMender(_values(name, text))
        yield {"wrong": all_errors(err, lambda: _system(folder, name, _text(system_mender.values)), system_mender)}
        return
    yield {"wrong": [], **_described(system), **_placed(system, counts, policy)}


def write_xml(folder: Path, name: str, text: str) -> Iterator[dict[str, Any]]:
    """Yield the platform file of a system."""
    yield {"xml": system_xml(_system(folder, name, text)).decode()}


def check_application(folder: Path, name: str, text: str) -> Iterator[dict[str, Any]]:
    """Yield the labels and the variables of an application, or all that is wrong."""
    try:
        application = _application(name, text)
        counts = application.counts()
    except UserError as err:
        mender = ApplicationMender(_values(name, text))
        yield {"wrong": all_errors(err, lambda: _application(name, _text(mender.values)).counts(), mender)}
        return
    with _drafted(name, text) as path:
        table = read_toml(path, "application")
    variables = {name: _typed(value) for name, value in table.get("variables", {}).items()}
    grids = [name for name, label in table["labels"].items() if "grid" in label]
    yield {"wrong": [], "name": application.name, "labels": counts, "grids": grids, "variables": variables}


def _application(name: str, text: str) -> Application:
    with _drafted(name, text) as path:
        return read_application(path)


def _values(name: str, text: str) -> dict[str, Any]:
    """Return the values of a text; none if it is no TOML."""
    with suppress(UserError):
        return toml_values(text, name)
    return {}


def _text(values: Mapping[str, Any]) -> str:
    # Imported here for a quick start: only a draft with an error needs it.
    import tomlkit

    return tomlkit.dumps(values)


def _typed(value: object) -> str:
    """Return a number, an expression or a list as a user would type it."""
    if isinstance(value, list):
        return f"[{', '.join(_typed(entry) for entry in value)}]"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def evaluate(folder: Path, name: str, text: str, words: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the result of an application on a system.

    Args:
        folder: The project folder.
        name: The name of the application file.
        text: Its text.
        words: Options of ``gridval blocks run``.
    """
    # Imported here for a quick start: they are slow to import, and most workers never need them.
    from predictor.blocks.evaluation.evaluate import evaluate as evaluated

    with _drafted(name, text) as path:
        request = parsed(BlocksRequest, COMMAND.parser(), [str(path), *words])
        setting = setting_from_request(request)
        machine = machine_from_request(request, setting)
        result = evaluated(
            setting.application, machine, evaluator=request.evaluator, power=request.power, parts=request.parts
        )
    cautions = [*setting.cautions(request.model), *result.cautions]
    yield {"result": result_json(result, 0.0), "text": result_text(result), "cautions": cautions}


def _system(folder: Path, name: str, text: str) -> System:
    """Return the system of a text; hardware files that it names have to be in the folder of the platforms.

    Raises:
        UserError: The text is wrong.
    """
    with _drafted(name, text) as path:
        table = read_toml(path, "system file")
        named = table.get("hardware", [])
        for other in named if isinstance(named, list) else ():
            _copy_hardware(folder / "platforms", other, path)
        if "lan" not in table and "wan" not in table:
            raise UserError(name, "no top level", "Give either [wan] or [lan]")
        wan = table.get("wan")
        if isinstance(wan, dict) and "clusters" not in table and not {"lan", "wan"} & wan.keys():
            raise UserError(Place(f"{name}, wan", None, ("wan",)), "a WAN without levels", "Add a LAN")
        if not is_system_file(path):
            raise UserError(name, "this is a grid of clusters, not a system of levels", "Edit its text in a file")
        return read_system(path)


def _copy_hardware(platforms: Path, name: object, draft: Path) -> None:
    """Copy a hardware file beside the draft, unless it lies outside of the folder of the platforms."""
    if not isinstance(name, str) or not name.isprintable():
        return  # the reader refuses it
    source = platforms / name
    inside = source.resolve().is_relative_to(platforms.resolve()) and source.resolve().name == Path(name).name
    if not inside or "/" in name or not source.is_file() or name == draft.name:
        where = f"{draft.name}, hardware {name!r}"
        raise UserError(where, "not a file in the folder platforms", "Copy it into that folder")
    shutil.copyfile(source, draft.with_name(name))


@contextmanager
def _drafted(name: str, text: str) -> Iterator[Path]:
    """Give a text as a file in a folder of its own; errors name the file without the folder."""
    with tempfile.TemporaryDirectory() as private:
        path = Path(private) / name
        path.write_text(text, "utf-8", newline="")
        try:
            yield path
        except UserError as err:
            raise err.renamed(f"{private}/", "") from None


def _described(system: System) -> dict[str, Any]:
    groups = [
        {
            "name": group.name, "units": group.units, "processor": group.unit.processor, "cores": group.unit.cores,
            "gflops": group.unit.unit_flops / 1e9, "slots": dict(group.unit.slots),
            "full_w": None if group.unit.power is None else group.unit.power.full_w,
            "failures_per_year": group.node.failures_per_year,
        }
        for group in system.groups
    ]  # fmt: skip
    idle_w, full_w = watts_of(system)
    flops = sum(group.units * group.unit.unit_flops for group in system.groups)
    return {"name": system.name, "nodes": system.nodes, "groups": groups, "idle_w": idle_w, "full_w": full_w,
            "price_usd": price_of(system), "gflops": flops / 1e9}  # fmt: skip


def _placed(system: System, counts: Mapping[str, int], policy: str) -> dict[str, Any]:
    if not counts:
        return {"placed": [], "not_placed": ""}
    try:
        plan = schedule(system, counts, policy)
    except UserError as err:
        return {"placed": [], "not_placed": str(err)}
    rows = [
        {"label": label, "group": placement.group.name, "first": placement.first, "units": placement.units,
         "each": placement.per_unit, "processes": placement.processes}
        for label, several in plan.placed.items() for placement in several
    ]  # fmt: skip
    return {"placed": rows, "not_placed": ""}
