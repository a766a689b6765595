"""The kernels of this project: one folder per kernel, with everything known about it.

``kernel.toml`` describes the kernel.  Further files of the folder are found by their names: a predictor with its own
declarations for kernels finds their files by ``kernels_with``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from apps.errors import KernelError
from platforms.errors import known_names, matching
from platforms.files.checked_toml import read_toml

IN_RULES = "rules.py"  # the value of a key whose value is computed there (apps/programs/kernel.py)
# What traffic.py declares: what the kernel does; or what it is to be expected to do, where messages depend on the data;
# or what it does on ranks that begin without the barrier of other kernels, so that only tests and its reference use it.
EXACT, EXPECTED, NO_BARRIER = TRAFFIC = ("exact", "expected", "no barrier")


def check_values(path: Path, data: Mapping[str, Any]) -> None:
    """Check types and ranges of all values; their keys are known.

    Raises:
        KernelError: A value does not fit, a source is missing, or the iterations are no parameter.
    """
    for key, value in data.items():
        fits, wanted = _CHECKS[key]
        if not fits(value):
            raise KernelError(str(path), f"{key} = {_short(value)} does not fit", f"Give {wanted}")
    for key, file in (("bytes_per_flop", IN_RULES), ("ranks", IN_RULES), ("traffic", "traffic.py")):
        declared = key in data and (file != IN_RULES or data[key] == file)
        if declared and not (path.parent / file).is_file():
            raise KernelError(str(path), f"{key} = {data[key]!r}, and there is no {file} beside it", f"Add {file}")
    if "traffic" not in data and (path.parent / "traffic.py").is_file():
        raise KernelError(str(path), "there is a traffic.py beside it, and no key traffic", f"Give {_listed(TRAFFIC)}")
    for key in ("calibration_iterations", "solo_iterations"):
        if key in data and "iterations" not in data:
            raise KernelError(str(path), f"{key} without iterations", "Leave it out")
    if "solo_size" in data and "size" not in data:
        raise KernelError(str(path), "solo_size of a kernel with classes", "Leave it out")
    for source in data["sources"]:
        if not (path.parent / source).is_file():
            raise KernelError(str(path), f"there is no source {source!r} beside it", "Correct sources")
    problems = data.get("classes", {"parameters": data.get("parameters", {})})
    for name, values in problems.items():
        for key in filter(None, [data.get("iterations")]):
            if not isinstance(values.get(key), int) or isinstance(values[key], bool):
                problem = f"{name} has no whole number {key!r}, which iterations names"
                raise KernelError(str(path), problem, "Add it, or leave iterations out")


def _listed(names: tuple[str, ...]) -> str:
    return f"one of {', '.join(names)}"


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != "" and value.isprintable()


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _positive(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _parameters(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_text, value)) and all(_number(v) or _text(v) for v in value.values())


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "title": (_text, "a text in one line"),
    "sources": (lambda value: isinstance(value, list) and bool(value) and all(map(_text, value)), "a list of C files"),
    "reference_efficiency": (lambda value: _number(value) and 0 < value <= 1, "a share above 0 and up to 1"),
    "bytes_per_flop": (
        lambda value: (_number(value) and 0 <= value < float("inf")) or value == IN_RULES,
        f"a number from 0 on, or {IN_RULES!r}",
    ),
    "iterations": (_text, "the name of a parameter"),
    "iterations_table": (lambda value: isinstance(value, bool), "true or false"),
    "uniform": (lambda value: isinstance(value, bool), "true or false"),
    "shares": (lambda value: isinstance(value, bool), "true or false"),
    "ranks": (lambda value: value == IN_RULES, f"{IN_RULES!r}, or nothing if any number will do"),
    "traffic": (lambda value: value in TRAFFIC, _listed(TRAFFIC)),
    "size": (_text, "the name of the parameter N"),
    "most_size": (_positive, "a whole number above 0"),
    "calibration_size": (_positive, "a whole number above 0"),
    "calibration_iterations": (_positive, "a whole number above 0"),
    "solo_size": (_positive, "a whole number above 0"),
    "solo_iterations": (_positive, "a whole number above 0"),
    "parameters": (_parameters, "a table of numbers and words"),
    "classes": (
        lambda value: isinstance(value, dict) and bool(value) and all(map(_parameters, value.values())),
        "at least one table of numbers and words",
    ),
}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


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
    solo_iterations: int | None = None  # the same, for ranks that each run it alone (apps/measuring/rehearsal.py)
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
    if isinstance(data.get("classes"), dict):
        data["classes"] = {name: _one_by_one(values) for name, values in data["classes"].items()}
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


def _one_by_one(values: Any) -> Any:
    """Return a table in which ``name3 = [a, b]`` has become ``name3 = a`` and ``name4 = b``; another value stays."""
    if not isinstance(values, dict):
        return values
    single: dict[str, Any] = {}
    for key, value in values.items():
        stem = key.rstrip("0123456789")
        listed = isinstance(value, list) and stem != key
        numbered = enumerate(value, int(key.removeprefix(stem))) if listed else ()
        single |= {f"{stem}{number}": item for number, item in numbered} if listed else {key: value}
    return single


def shared_names() -> tuple[str, ...]:
    """Return the names of the kernels whose data can be divided in unequal shares."""
    return tuple(name for name in kernel_names() if named_kernel(name).takes_shares)


def sized_names() -> tuple[str, ...]:
    """Return the names of the kernels that take any size N."""
    return tuple(name for name in kernel_names() if named_kernel(name).size_parameter is not None)


# Rules of a kernel that the numbers in its kernel.toml cannot state: functions in its folder's ``rules.py``.
#
# ``bytes_per_flop(params)`` is called if kernel.toml says ``bytes_per_flop = "rules.py"``, and ``allows(params,
# nranks)`` if it says ``ranks = "rules.py"``; RANKS in the same module states this rule in words, for error messages.

_MODULE = "rules"


def bytes_per_flop(kernel: Kernel, params: Mapping[str, Any]) -> float:
    """Return the bytes moved between a node's cores and its memory per counted operation: #b / #op.

    All values are counted from the loops: every sweep over arrays larger than the caches reads each array once and
    writes each result once, with one more read of the written cache line if the result was not read before.  The values
    are good to a factor of two at best, because small problems stay in caches.
    """
    if kernel.bytes_per_flop is not None:
        return float(kernel.bytes_per_flop)
    return float(kernel.needed(_MODULE, "bytes_per_flop")(params))


def allows(kernel: Kernel, params: Mapping[str, Any], nranks: int) -> bool:
    """Return whether the kernel's own rule allows this number of ranks."""
    return kernel.any_ranks or bool(kernel.needed(_MODULE, "allows")(params, nranks))


def rank_rule(kernel: Kernel) -> str:
    """Return the kernel's rule for the number of ranks, in words."""
    return "any number of ranks will do" if kernel.any_ranks else str(kernel.needed(_MODULE, "RANKS"))
