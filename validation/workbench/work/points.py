"""The points of suites of applications: which there are, how many processes each has, and what decides its results."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from contextlib import chdir
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from platforms.command.values import parsed
from platforms.errors import Place, UserError, nearest
from platforms.system.convert import system_named
from platforms.system.model import System
from platforms.system.parts import ANY
from predictor.blocks.application import Application
from predictor.blocks.description import read_application
from predictor.blocks.options import changed
from predictor.blocks.run_command import COMMAND, BlocksRequest
from predictor.blocks.series.evaluations import number
from predictor.blocks.series.points import ApplicationOptions, Point, points_of
from validation.workbench.project.application_suites import (
    FAILURE_RATE,
    MOST_RUNS,
    read_suite,
    within_project,
    words_of,
    written,
)

OPTIONS = ("policy", "power")  # values of points beside counts and variables


@dataclass(frozen=True)
class SuitePoint:
    """A run of a suite: an application on a system, with its counts and values, for every model."""

    point: Point
    models: tuple[str, ...]
    application: Application  # without the values of the point, or with those of another point of its suite

    @property
    def request(self) -> ApplicationOptions:
        """The request of the command that evaluates it."""
        return self.point.request

    def with_model(self, model: str) -> Point:
        """Return the point for one model."""
        return Point({**self.point.values, "model": model}, replace(self.request, model=model))

    @cached_property
    def changed(self) -> Application:
        """The application with the values of the point."""
        return changed(self.application, self.request)

    def values(self) -> dict[str, int | float | str]:
        """Return the number of processes of each label, each variable, the policy, the power rule and the rate."""
        counts = self.changed.counts()
        variables = {name: number(typed(value)) for name, value in self.changed.variables.items()}
        given = {name: getattr(self.request, name) for name in (*OPTIONS, FAILURE_RATE)}
        return {**counts, **variables, **{name: value for name, value in given.items() if value is not None}}

    def said(self) -> str:
        """Return what tells the point from others of its application and system, in words."""
        varied = self.point.values
        names = [*(name for name in varied if name not in ("system", *OPTIONS)), *(n for n in OPTIONS if n in varied)]
        return ", ".join(f"{name} = {varied[name]}" for name in names)


class SuitePoints:
    """All points of a suite.

    Args:
        folder: The project folder.
        text: The suite.

    Raises:
        UserError: The suite or an application is wrong, or there are more than MOST_RUNS points.
    """

    def __init__(self, folder: Path, text: str):
        self._folder, self.suite = folder, read_suite(text)
        self.models = tuple(map(within_project, self.suite.models))
        with chdir(folder):
            self.applications = {name: read_application(Path(within_project(name))) for name in self.suite.applications}
            self._check_names()
            self._check_size()
            self.points = [point for name in self.suite.applications for point in self._points(name)]
        self._contents: dict[tuple[str, str], str] = {}

    def _check_names(self) -> None:
        """Refuse names that no application has, and names of applications that points have for something else."""
        for file, application in self.applications.items():
            for name in {*_names(application, "counts"), *_names(application, "variables")} & {*OPTIONS, FAILURE_RATE}:
                where = f"{within_project(file)}, {name}"
                raise UserError(where, "the results have a column of this name", "Rename it in the file")
        for key, numbers in (("counts", self.suite.counts), ("variables", self.suite.variables)):
            known = [name for application in self.applications.values() for name in _names(application, key)]
            for name in numbers:
                if name not in known:
                    what = "label" if key == "counts" else "variable"
                    remedy = nearest(name, dict.fromkeys(known)) if known else "The applications have none"
                    place = Place(f"suite, {key}, {name}", None, (key, name))
                    raise UserError(place, f"no application has such a {what}", remedy)

    def _check_size(self) -> None:
        """Refuse a product that is too large, before it is made."""
        given, runs = {**self.suite.counts, **self.suite.variables}, 0
        lists = math.prod(map(len, (self.suite.systems, self.suite.policies, self.suite.powers)))
        for application in self.applications.values():
            names = {*_names(application, "counts"), *_names(application, "variables")} & given.keys()
            runs += lists * math.prod(len(given[name]) for name in names)
        if runs > MOST_RUNS:
            raise UserError("suite", f"a product of {runs:,} runs", f"Ask for at most {MOST_RUNS:,}")

    def _points(self, name: str) -> Iterator[SuitePoint]:
        application = self.applications[name]
        names = {*_names(application, "counts"), *_names(application, "variables")}
        words = words_of(self.suite, name, names, self.models[:1])
        for point in points_of(parsed(BlocksRequest, COMMAND.parser(), [*words, "--parts"])):
            yield SuitePoint(point, self.models, application)

    def content_of(self, point: SuitePoint) -> str:
        """Return the hash of what a point depends on that can change in the project: application, system and models."""
        key = point.request.application, point.request.system
        if key not in self._contents:
            with chdir(self._folder):
                given = read_application(Path(key[0]))
                system = replace(system_named(key[1]), source="")
                files = [Path(model).read_bytes() for model in self.models if Path(model).is_file()]
            known = repr((given.name, given.given, given.steps, given.variables, given.functions, system, files))
            self._contents[key] = hashlib.sha256(known.encode()).hexdigest()
        return self._contents[key]

    def forget_contents(self) -> None:
        """Read the files again the next time."""
        self._contents.clear()


def expanded(folder: Path, text: str) -> list[list[Any]]:
    """Return the points of a suite as the queue keeps them: the fields of ``queue.suites.Case`` after its number."""
    points = SuitePoints(folder, text)
    cases = []
    latest: dict[str, Application] = {}  # by file: all points of an application change the same counts and variables
    with chdir(folder):
        for point in points.points:
            # A number in place of a number takes a fraction of the time of a number in place of an expression.
            moved = replace(point, application=latest.get(point.request.application, point.application))
            latest[moved.request.application] = moved.changed
            values = moved.values()
            ranks = sum(values[label.name] for label in moved.application.labels)  # type: ignore[misc]
            content = points.content_of(moved)
            cases.append([
                Path(moved.request.system).stem, None, Path(moved.request.application).stem, moved.said() or None,
                ranks, moved.request.policy, "", content, json.dumps(values),
            ])  # fmt: skip
    return cases


def describe(folder: Path, applications: list[str], systems: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the labels and the variables of applications, and how many processes of each label systems take.

    Args:
        folder: The project folder.
        applications: Names of files in the folder of the applications.
        systems: Systems as the commands name them in the project folder.
    """
    labels: dict[str, list[dict[str, Any]]] = {}
    variables: dict[str, list[str]] = {}
    wrong: list[str] = []
    with chdir(folder):
        for name in applications:
            try:
                application = read_application(Path("applications") / name)
                counts = application.counts()
            except UserError as err:
                wrong.append(str(err))
                continue
            for label in application.labels:
                label_form = {"application": name, "count": counts[label.name], "grid": bool(label.grid)}
                labels.setdefault(label.name, []).append(label_form)
            for variable, value in application.variables.items():
                variables.setdefault(variable, []).append(typed(value))
        places: dict[str, dict[str, int]] = {}
        for name in systems:
            try:
                places[Path(name).stem if "/" in name else name] = capacities(system_named(name))
            except UserError as err:
                wrong.append(str(err))
    most = {
        label: {system: known.get(label, 0) + known.get(ANY, 0) for system, known in places.items()} for label in labels
    }
    yield {"labels": labels, "variables": variables, "most": most, "wrong": wrong}


def capacities(system: System) -> dict[str, int]:
    """Return the number of slots for each label on all units of a system, and for ANY."""
    capacity_by_label: dict[str, int] = {}
    for group in system.groups:
        for label, slots in group.unit.slots:
            capacity_by_label[label] = capacity_by_label.get(label, 0) + group.units * slots
    return capacity_by_label


def typed(value: object) -> str:
    """Return a number, an expression or a list as a user would type it."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(typed, value))}]"
    text = getattr(value, "text", value)
    number_read = number(str(text))
    return written(number_read) if isinstance(number_read, float) else str(text)


def _names(application: Application, key: str) -> Mapping[str, object] | list[str]:
    if key == "variables":
        return application.variables
    return [label.name for label in application.labels]
