"""The programs that come with the project: one folder per kernel, described by its ``kernel.toml``."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from apps.errors import KernelError
from apps.user_program import UserProgram

_HERE = Path(__file__).parent
_COMMON = _HERE / "common"
_KEYS = {"title", "sources", "reference_efficiency", "bytes_per_flop"}
_CLASSES = {"classes"}  # a benchmark of named classes has these keys besides,
_SIZES = {"size", "calibration_size", "parameters"}  # and one of free sizes these
_OPTIONAL = {"iterations", "iterations_table", "ranks", "most_size"}
_MOST_SIZE = 2**40  # N; beyond it counts of things overflow

Value = int | float | str


@dataclass(frozen=True)
class App:
    """A kernel: where its sources are, and which problems it knows: named classes, or every size N."""

    name: str
    title: str
    folder: Path
    sources: tuple[Path, ...]  # C files, the shared ones included
    iterations_parameter: str | None  # that holds the official number of iterations; None: the program has none
    reference_efficiency: float  # sustained share of a core's dgemm speed, (0, 1]
    bytes_per_flop: float | str  # between cores and memory; or a name of apps/memory_rules.py
    classes: Mapping[str, Mapping[str, Value]] = field(hash=False)
    size_parameter: str | None = None  # that holds N; None: the problems are classes
    most_size: int = _MOST_SIZE  # largest N that the program takes
    calibration_size: int | None = None  # the N that ``python -m apps.calibrate`` times
    parameters: Mapping[str, Value] = field(default_factory=dict, hash=False)  # beside N, with their defaults
    rank_rule: str = "any"  # a name of apps/rank_rules.py: which numbers of ranks a size allows
    has_iterations_table: bool = False  # iterations.csv: N and ranks to the iterations that a method needs

    @property
    def headers(self) -> tuple[Path, ...]:
        """Files that the sources include: they belong to the identity of the program."""
        folders = {source.resolve().parent for source in self.sources}
        return tuple(sorted(header for folder in folders for header in folder.glob("*.h")))

    @property
    def reference(self) -> Path | None:
        """The Python module with what ``verify`` compares with, where it is computed and not published."""
        path = self.folder / "reference.py"
        return path if path.exists() else None

    @property
    def reference_sources(self) -> tuple[Path, ...]:
        """That module and those that references share; empty without it."""
        return () if self.reference is None else (self.reference, *sorted(_COMMON.glob("*.py")))


@dataclass(frozen=True)
class Problem:
    """What a program is asked to compute: a class such as B is a preset of parameters.

    With ``program``, a program of the user's own takes the place of a kernel: ``app`` is its name, and its arguments
    are all there is to say.
    """

    app: str
    params: tuple[tuple[str, Value], ...] = ()
    preset: str | None = None
    program: UserProgram | None = None

    @property
    def iterative(self) -> bool:
        """Whether the program has iterations, and can be told how many to do."""
        if self.program is not None:
            return self.program.iterations is not None
        return app(self.app).iterations_parameter is not None

    @property
    def open_ended(self) -> bool:
        """Whether the method iterates until it is done: only arithmetic, or a table of such runs, tells how often."""
        if self.program is not None or (parameter := app(self.app).iterations_parameter) is None:
            return False
        return app(self.app).has_iterations_table and int(dict(self.params)[parameter]) == 0

    def iterations_on(self, nranks: int) -> int:
        """The number of iterations of a full run; 1 for a program without iterations, which is simulated whole.

        Raises KernelError where it is to be taken from a table that does not have it.
        """
        if self.program is not None:
            return self.program.iterations or 1
        if (parameter := app(self.app).iterations_parameter) is None:
            return 1
        if self.open_ended:
            from apps.iterations_table import table_iterations

            return table_iterations(self, nranks)
        return int(dict(self.params)[parameter])

    @property
    def size(self) -> int | None:
        """N; None for a class or a program of the user's own."""
        if self.program is not None or (parameter := app(self.app).size_parameter) is None:
            return None
        return int(dict(self.params)[parameter])

    @property
    def label(self) -> str | None:
        """Which problem of the program: its class, or N and what differs from the defaults; None: there is but one."""
        if self.size is None:
            return self.preset
        defaults = app(self.app).parameters
        changed = (f"{key}={value}" for key, value in self.params if key in defaults and defaults[key] != value)
        return " ".join((str(self.size), *changed))

    def allows(self, nranks: int) -> bool:
        """Whether the benchmark's own rule lets so many ranks work on it."""
        if self.program is not None:
            return True
        from apps.rank_rules import RANK_RULES

        return RANK_RULES[app(self.app).rank_rule].allows(dict(self.params), self.size, nranks)

    @property
    def bytes_per_flop(self) -> float | None:
        """Bytes between a node's cores and its memory per operation; None: a program of the user's own."""
        if self.program is not None:
            return None
        from apps.memory_rules import bytes_per_flop

        return bytes_per_flop(app(self.app).bytes_per_flop, dict(self.params))

    def __str__(self) -> str:
        return f"{self.app} {self.label}" if self.label else self.app


@cache
def app_names() -> tuple[str, ...]:
    """The known kernels, in alphabetical order."""
    return tuple(sorted(path.parent.name for path in _HERE.glob("*/kernel.toml")))


@cache
def app(name: str) -> App:
    """The kernel of that name; raises KernelError with the known names."""
    if name not in app_names():
        raise KernelError(f"app {name!r}", "no such program", f"Known: {', '.join(app_names())}")
    path = _HERE / name / "kernel.toml"
    data = tomllib.loads(path.read_text())
    needed = _KEYS | (_SIZES if "size" in data else _CLASSES)
    if odd := (set(data) - _OPTIONAL) ^ needed:
        problem = f"missing or unknown keys: {', '.join(sorted(odd))}"
        remedy = f"Give {', '.join(sorted(needed))}; {', '.join(sorted(_OPTIONAL))} may be given"
        raise KernelError(str(path), problem, remedy)
    return App(
        name=name,
        title=data["title"],
        folder=path.parent,
        sources=(*sorted(_COMMON.glob("*.c")), *(path.parent / source for source in data["sources"])),
        iterations_parameter=data.get("iterations"),
        reference_efficiency=data["reference_efficiency"],
        bytes_per_flop=data["bytes_per_flop"],
        classes=data.get("classes", {}),
        size_parameter=data.get("size"),
        most_size=data.get("most_size", _MOST_SIZE),
        calibration_size=data.get("calibration_size"),
        parameters=data.get("parameters", {}),
        rank_rule=data.get("ranks", "any"),
        has_iterations_table=data.get("iterations_table", False),
    )


def sized_names() -> tuple[str, ...]:
    """The kernels that take any size N."""
    return tuple(name for name in app_names() if app(name).size_parameter is not None)


def problem(app_name: str, preset: str) -> Problem:
    """The official problem of a class; raises KernelError with the known classes.

    >>> problem("cg", "B").iterations_on(32)
    75
    """
    kernel = app(app_name)
    if kernel.size_parameter is not None:
        raise KernelError(f"class {preset!r}", f"{app_name} has no classes", "Give its size N with --size")
    if preset not in kernel.classes:
        raise KernelError(f"class {preset!r}", f"{app_name} has no such class", f"Known: {', '.join(kernel.classes)}")
    return Problem(app_name, tuple(kernel.classes[preset].items()), preset)


def sized_problem(app_name: str, size: int, /, **parameters: Value) -> Problem:
    """The problem of size N, ``parameters`` in place of the defaults; raises KernelError for what does not fit.

    >>> print(sized_problem("hpl", 9600, nb=128))
    hpl 9600 nb=128
    """
    kernel = app(app_name)
    if kernel.size_parameter is None:
        remedy = f"Give one of its classes: {', '.join(kernel.classes)}"
        raise KernelError(f"size {size}", f"{app_name} has no free size", remedy)
    if not 1 <= size <= kernel.most_size:
        problem = "not a size" if size < 1 else f"too large for {app_name}"
        raise KernelError(f"size {size}", problem, f"Give an integer from 1 to {kernel.most_size}")
    values = {kernel.size_parameter: size, **kernel.parameters}
    for name, value in parameters.items():
        values[name] = _checked(kernel, name, value)
    return Problem(app_name, tuple(values.items()))


def _checked(kernel: App, name: str, value: Value) -> Value:
    """A parameter's value, of the type of its default; texts, as a command line has them, are converted."""
    if name not in kernel.parameters:
        known = f"Known: {', '.join(kernel.parameters)}" if kernel.parameters else "It has none"
        raise KernelError(f"parameter {name!r}", f"{kernel.name} has no such parameter", known)
    wanted = type(kernel.parameters[name])
    try:
        converted = wanted(value)
    except (ValueError, OverflowError, TypeError):
        converted = None
    if converted is None or (not isinstance(value, str) and converted != value) or not _plain(converted):
        kind = {int: "an integer", float: "a number", str: "a word"}[wanted]
        raise KernelError(f"parameter {name}={value}", f"not {kind}", f"Give one, such as {kernel.parameters[name]}")
    return converted


def _plain(value: Value) -> bool:
    """Whether a kernel's command line can carry it."""
    if isinstance(value, str):
        return re.fullmatch(r"[\w.-]{1,40}", value) is not None
    return math.isfinite(value) if isinstance(value, float) else abs(value) < 2**63


def own_problem(program: UserProgram) -> Problem:
    """The problem that a program of the user's own solves."""
    return Problem(program.name, program=program)
