"""The kernels of this project: one folder per kernel, with everything known about it.

``kernel.toml`` describes the kernel.  Further files of the folder are found by their names: a predictor with its own
declarations for kernels finds their files by ``kernels_with``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from apps.errors import KernelError
from apps.programs.kernel_file import IN_RULES, check_values
from platforms.errors import known_names, matching
from platforms.files.checked_toml import read_toml

_HERE = Path(__file__).parents[1] / "kernels"
_HARNESS = _HERE / "harness"
_COMMON = _HERE.parent / "common"
_KEYS = {"title", "sources", "reference_efficiency", "bytes_per_flop"}
_CLASSES = {"classes"}  # further keys of a kernel with named classes
_SIZES = {"size", "calibration_size", "parameters"}  # further keys of a kernel with free sizes
_OPTIONAL = {
    *("iterations", "iterations_table", "uniform", "ranks", "most_size", "shares", "traffic"),
    *("calibration_iterations", "solo_iterations", "solo_size"),
}
_MOST_SIZE = 2**40  # N; counts of operations overflow beyond it
Value = int | float | str


@dataclass(frozen=True)
class Kernel:
    """A kernel: its sources and its problems, which are named classes or every size N."""

    name: str
    title: str
    folder: Path
    sources: tuple[Path, ...]  # C files, including the shared ones
    iterations_parameter: str | None  # name of the iteration-count parameter; None: the kernel has no iterations
    reference_efficiency: float  # sustained share of a core's dgemm speed, (0, 1]
    bytes_per_flop: float | None  # moved between cores and memory; None: rules.py has a formula
    classes: Mapping[str, Mapping[str, Value]] = field(hash=False)
    size_parameter: str | None = None  # name of the parameter N; None: the problems are classes
    most_size: int = _MOST_SIZE  # largest N that the kernel takes
    calibration_size: int | None = None  # the N that ``gridval program speed`` times
    parameters: Mapping[str, Value] = field(default_factory=dict, hash=False)  # besides N, with their defaults
    any_ranks: bool = True  # False: rules.py restricts the number of ranks
    uniform: bool = False  # every iteration but the last does the same (tests/apps/programs/test_uniform.py)
    takes_shares: bool = False  # its data can be cut into unequal shares (apps/traffic/shares.py)
    has_iterations_table: bool = False  # iterations.csv gives the iterations for N and ranks
    traffic: str | None = None  # one of kernel_file.TRAFFIC, what traffic.py declares; None: there is no such file
    calibration_iterations: int | None = None  # number that suffices for timing if iterations are alike; None: all
    solo_iterations: int | None = (
        None  # the same, for ranks that run the kernel for themselves (apps/measuring/solo.py)
    )
    solo_size: int | None = None  # the N that these run; None: the kernel has classes

    @property
    def headers(self) -> tuple[Path, ...]:
        """Header files in the folders of the sources; they are part of the kernel's identity."""
        folders = {source.resolve().parent for source in self.sources}
        return tuple(sorted(header for folder in folders for header in folder.glob("*.h")))

    @property
    def declarations(self) -> tuple[Path, ...]:
        """Python files in the folders of the kernel and of its sources; they decide what its traffic.py declares."""
        folders = {self.folder.resolve(), *(source.resolve().parent for source in self.sources)}
        return tuple(sorted(module for folder in folders for module in folder.glob("*.py")))

    @property
    def reference(self) -> Path | None:
        """Python module that computes the reference results for mode ``verify``; None if they are published."""
        return self.file("reference.py")

    @property
    def reference_sources(self) -> tuple[Path, ...]:
        """Module of ``reference`` and the modules that all references share; empty without a reference."""
        return () if self.reference is None else (self.reference, *sorted(_HARNESS.glob("*.py")))

    def file(self, name: str) -> Path | None:
        """Return a file of the kernel's folder; None if there is no such file."""
        path = self.folder / name
        return path if path.is_file() else None

    def optional(self, module: str, name: str) -> Any:
        """Return an object of a Python module in the kernel's folder; None if there is no such module or name.

        The kernels' folders are above this room in the import order: their modules are imported at first use.
        """
        return _declared(self.name, module, name) if self.file(f"{module}.py") else None

    def needed(self, module: str, name: str) -> Any:
        """Return what ``optional`` returns.

        Raises:
            KernelError: There is no such module or name.
        """
        kernel_module = self.optional(module, name)
        if kernel_module is None:
            where = str(self.folder / f"{module}.py")
            raise KernelError(where, f"{name!r} is not there", "Add it: docs/architecture.md says what it is")
        return kernel_module


@cache
def _declared(kernel_name: str, module: str, name: str) -> Any:
    return getattr(import_module(f"apps.kernels.{kernel_name}.{module}"), name, None)


@cache
def kernel_names() -> tuple[str, ...]:
    """Return the names of the known kernels, in alphabetical order."""
    return tuple(sorted(path.parent.name for path in _HERE.glob("*/kernel.toml")))


def kernels_with(file: str) -> tuple[str, ...]:
    """Return the names of the kernels whose folders hold a file of this name, in alphabetical order."""
    return _names_with(_HERE, kernel_names(), file)


@cache
def _names_with(folder: Path, names: tuple[str, ...], file: str) -> tuple[str, ...]:
    return tuple(name for name in names if (folder / name / file).is_file())


def named_kernel(name: str) -> Kernel:
    """Return the kernel of that name, in any case.

    Raises:
        KernelError: There is no such kernel; the error lists the known names.
    """
    known = matching(name, kernel_names())
    if known is None:
        raise KernelError(f"app {name!r}", "no such program", known_names(name, kernel_names()))
    return _read_kernel(known)


@cache
def _read_kernel(name: str) -> Kernel:
    path = _HERE / name / "kernel.toml"
    data = read_toml(path, "kernel.toml")
    needed = _KEYS | (_SIZES if "size" in data else _CLASSES)
    if odd := (set(data) - _OPTIONAL) ^ needed:
        problem = f"missing or unknown keys: {', '.join(sorted(odd))}"
        remedy = f"Give {', '.join(sorted(needed))}; {', '.join(sorted(_OPTIONAL))} may be given"
        raise KernelError(str(path), problem, remedy)
    if not isinstance(data.get("uniform", False), bool) or ("uniform" in data and "iterations" not in data):
        remedy = "Give true, false or nothing, and nothing without iterations"
        raise KernelError(str(path), f"uniform = {data['uniform']!r}", remedy)
    check_values(path, data)
    timed, declared = data.get("calibration_iterations"), data["bytes_per_flop"]
    return Kernel(
        name=name,
        title=data["title"],
        folder=path.parent,
        sources=(
            *sorted(_HARNESS.glob("*.c")),
            *sorted(_COMMON.glob("*.c")),
            *(path.parent / source for source in data["sources"]),
        ),
        iterations_parameter=data.get("iterations"),
        reference_efficiency=data["reference_efficiency"],
        bytes_per_flop=None if declared == IN_RULES else declared,
        classes=data.get("classes", {}),
        size_parameter=data.get("size"),
        most_size=data.get("most_size", _MOST_SIZE),
        calibration_size=data.get("calibration_size"),
        parameters=data.get("parameters", {}),
        any_ranks="ranks" not in data,
        uniform=data.get("uniform", False),
        takes_shares=data.get("shares", False),
        has_iterations_table=data.get("iterations_table", False),
        traffic=data.get("traffic"),
        calibration_iterations=timed,
        solo_iterations=data.get("solo_iterations", timed),
        solo_size=data.get("solo_size", data.get("calibration_size")),
    )


def shared_names() -> tuple[str, ...]:
    """Return the names of the kernels whose data can be divided in unequal shares."""
    return tuple(name for name in kernel_names() if named_kernel(name).takes_shares)


def sized_names() -> tuple[str, ...]:
    """Return the names of the kernels that take any size N."""
    return tuple(name for name in kernel_names() if named_kernel(name).size_parameter is not None)
