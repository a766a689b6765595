"""The programs that come with the project: one folder per kernel, described by its ``kernel.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from apps.errors import KernelError
from apps.user_program import UserProgram

_HERE = Path(__file__).parent
_COMMON = _HERE / "common"
_KEYS = {"title", "sources", "reference_efficiency", "classes"}
_OPTIONAL = {"iterations"}


@dataclass(frozen=True)
class App:
    """A kernel: where its sources are and which classes it knows."""

    name: str
    title: str
    folder: Path
    sources: tuple[Path, ...]  # C files, the shared ones included
    iterations_parameter: str | None  # that holds the official number of iterations; None: the program has none
    reference_efficiency: float  # sustained share of a core's dgemm speed, (0, 1]
    classes: Mapping[str, Mapping[str, float]] = field(hash=False)

    @property
    def headers(self) -> tuple[Path, ...]:
        """Files that the sources include: they belong to the identity of the program."""
        return tuple(sorted([*self.folder.glob("*.h"), *_COMMON.glob("*.h")]))


@dataclass(frozen=True)
class Problem:
    """What a program is asked to compute: a class such as B is a preset of parameters.

    With ``program``, a program of the user's own takes the place of a kernel: ``app`` is its name, and its arguments
    are all there is to say.
    """

    app: str
    params: tuple[tuple[str, float], ...] = ()
    preset: str | None = None
    program: UserProgram | None = None

    @property
    def iterative(self) -> bool:
        """Whether the program has iterations, and can be told how many to do."""
        if self.program is not None:
            return self.program.iterations is not None
        return app(self.app).iterations_parameter is not None

    @property
    def iterations(self) -> int:
        """The number of iterations of a full run; 1 for a program without iterations, which is simulated whole."""
        if self.program is not None:
            return self.program.iterations or 1
        return int(dict(self.params)[app(self.app).iterations_parameter]) if self.iterative else 1

    def __str__(self) -> str:
        return f"{self.app} {self.preset}" if self.preset else self.app


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
    if odd := (set(data) - _OPTIONAL) ^ _KEYS:
        problem = f"missing or unknown keys: {', '.join(sorted(odd))}"
        raise KernelError(str(path), problem, f"Give {', '.join(sorted(_KEYS))} and, if there are any, iterations")
    return App(
        name=name,
        title=data["title"],
        folder=path.parent,
        sources=(_COMMON / "run.c", *(path.parent / source for source in data["sources"])),
        iterations_parameter=data.get("iterations"),
        reference_efficiency=data["reference_efficiency"],
        classes=data["classes"],
    )


def problem(app_name: str, preset: str) -> Problem:
    """The official problem of a class; raises KernelError with the known classes."""
    classes = app(app_name).classes
    if preset not in classes:
        raise KernelError(f"class {preset!r}", f"{app_name} has no such class", f"Known: {', '.join(classes)}")
    return Problem(app_name, tuple(classes[preset].items()), preset)


def own_problem(program: UserProgram) -> Problem:
    """The problem that a program of the user's own solves."""
    return Problem(program.name, program=program)
