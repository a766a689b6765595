"""The installed SimGrid: its version, the check that it can be used, and options whose names differ."""

from __future__ import annotations

import functools
import hashlib
import importlib.machinery
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from platforms.errors import UserError
from platforms.files.caching import cache_folder, write_atomically

OLDEST = (3, 32)
INSTALL = "Run: apt-get install libsimgrid-dev python3-simgrid, or install its wheel (docs/installation.md)"
VARIABLE = "GRIDVAL_SIMGRID"  # names the prefix of a SimGrid that takes the place of the wheel and of the PATH
_WHEEL = "gridval_simgrid"
_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
_ASK_PYTHON = "import simgrid; print(simgrid.simgrid_version)"


@functools.cache
def simgrid_version() -> str:
    """Return the version of the smpirun on the PATH, such as "3.32".

    Raises:
        UserError: There is no smpirun, or it prints no version.
    """
    smpirun = _smpirun()
    return _remembered(_fingerprint(smpirun)) or _ask_smpirun(smpirun)


def version_numbers() -> tuple[int, ...]:
    """Return (major, minor, patch) of the installed version."""
    return _numbers(simgrid_version())


def check_simgrid() -> None:
    """Check that the installed SimGrid can be used.

    The Python module ``simgrid`` may be absent.  The result is kept in the cache folder until one of the examined files
    changes, so that a check takes a few milliseconds.

    Raises:
        UserError: smpirun is missing or older than 3.32, headers are missing or of another version, the Python module
            ``simgrid`` is of another version, or the wheel is incomplete.
    """
    smpirun = _smpirun()
    fingerprint = _fingerprint(smpirun)
    if _remembered(fingerprint):
        return
    wheel = wheel_prefix()
    if wheel is not None and uses_wheel():
        _check_wheel(wheel)
    version = _ask_smpirun(smpirun)
    if _numbers(version)[:2] < OLDEST:
        raise UserError(f"SimGrid {version} ({smpirun})", "too old, 3.32 or newer is needed", INSTALL)
    header = _header(smpirun)
    if header is None or find_program("smpicc") is None:
        raise UserError("SimGrid", "its headers and smpicc are not installed", INSTALL)
    _check_same(version, _header_version(header), f"the headers ({header})")
    module = _python_module()
    if module is not None:
        _check_same(version, _ask_python_module(module), f"Python's module simgrid ({module})")
    write_atomically(_memory(fingerprint), json.dumps({"fingerprint": fingerprint, "version": version}).encode())


def wheel_prefix() -> Path | None:
    """Return the prefix of the wheel gridval-simgrid in this environment of Python; None if it is not installed."""
    spec = importlib.machinery.PathFinder.find_spec(_WHEEL)
    return None if spec is None or not spec.origin else Path(spec.origin).resolve().parent


def chosen_prefix() -> Path | None:
    """Return the prefix of the SimGrid that the variable names, else of the wheel; None if the PATH decides."""
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser().resolve() if named else wheel_prefix()


def uses_wheel() -> bool:
    """Return whether the SimGrid of the wheel is the one that is used."""
    return chosen_prefix() is not None and chosen_prefix() == wheel_prefix()


def wheel_libraries() -> list[Path]:
    """Return SimGrid's library in the wheel, if the wheel's SimGrid is used."""
    prefix = chosen_prefix() if uses_wheel() else None
    return [] if prefix is None else sorted((prefix / "lib").glob("libsimgrid.so.*"))


def find_program(name: str) -> str | None:
    """Return the path of one of SimGrid's programs, such as smpicc; None if it is missing.

    A SimGrid that ``chosen_prefix`` gives has to have it: one of another version may come first on the PATH.

    Raises:
        UserError: The chosen SimGrid lacks it.
    """
    prefix = chosen_prefix()
    if prefix is None:
        return shutil.which(name)
    path = prefix / "bin" / name
    if not os.access(path, os.X_OK):
        problem = f"bin/{name} is missing or is no program"
        raise UserError(f"SimGrid in {prefix}", problem, _remedy(prefix))
    return str(path)


def _remedy(prefix: Path) -> str:
    if prefix == wheel_prefix():
        return f"Run: {sys.executable} -m pip install --force-reinstall --no-deps gridval-simgrid"
    return f"Correct the variable {VARIABLE}"


def _check_wheel(prefix: Path) -> None:
    """Compare the sizes of the wheel's files with its list."""
    for record in prefix.parent.glob(f"{_WHEEL}-*.dist-info/RECORD"):
        for line in record.read_text("utf-8").splitlines():
            name, _, size = line.split(",")
            path = prefix.parent / name
            if size and not (path.is_file() and path.stat().st_size == int(size)):
                problem = f"is incomplete: {name} is missing or has another size"
                raise UserError(f"the wheel of SimGrid in {prefix}", problem, _remedy(prefix))


def _smpirun() -> Path:
    path = find_program("smpirun")
    if path is None:
        raise UserError("SimGrid", "smpirun is not on the PATH", INSTALL)
    return Path(path).resolve()


def compiler_flags() -> list[str]:
    """Return the compiler flags with which a program is compiled, linked and run with the SimGrid of the PATH.

    The list is empty for a SimGrid in a standard place.  Without the flags, the compiler would use a SimGrid of the
    distribution instead of a newer one that was built by hand.
    """
    prefix = _smpirun().parent.parent
    if prefix == Path("/usr") or not (prefix / "include" / "simgrid" / "version.h").is_file():
        return []
    boost = prefix / "include" / "after"  # of the wheel; one of the system comes first
    after = ["-idirafter", str(boost)] if boost.is_dir() else []
    return [f"-I{prefix / 'include'}", f"-L{prefix / 'lib'}", f"-Wl,-rpath,{prefix / 'lib'}", *after]


@functools.cache
def library_folders() -> tuple[str, ...]:
    """Return the folders in which smpirun lets the loader look for libraries first."""
    exported = re.search(r'^export LD_LIBRARY_PATH="([^"$]*)', _smpirun().read_text("utf-8", "replace"), re.MULTILINE)
    return tuple(dict.fromkeys(filter(None, exported[1].split(os.pathsep)))) if exported else ()


def _ask_smpirun(smpirun: Path) -> str:
    try:
        answer = subprocess.run([smpirun, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as err:
        raise UserError(str(smpirun), f"does not run: {err}", INSTALL) from err
    return _version_in(answer.stdout, str(smpirun))


def _version_in(text: str, where: str) -> str:
    match = _VERSION.search(text)
    if match is None:
        raise UserError(where, "does not say its SimGrid version", INSTALL)
    return match.group(0)


@functools.cache
def _numbers(version: str) -> tuple[int, ...]:
    """Return (major, minor, patch); an absent patch level is 0."""
    match = _VERSION.search(version)
    if match is None:
        raise ValueError(f"not a version: {version!r}")
    return tuple(int(part or 0) for part in match.groups())


def _check_same(version: str, other: str, what: str) -> None:
    if _numbers(version) != _numbers(other):
        raise UserError("SimGrid", f"smpirun has version {version}, but {what} {other}", INSTALL)


def _header(smpirun: Path) -> Path | None:
    """Return the path of SimGrid's version.h: beside smpirun, else where the compiler looks for headers."""
    folders = [smpirun.parent.parent / "include"]
    for variable in ("CPATH", "CPLUS_INCLUDE_PATH"):
        folders += [Path(part) for part in os.environ.get(variable, "").split(os.pathsep) if part]
    folders += [Path("/usr/local/include"), Path("/usr/include")]
    return next((path for path in (folder / "simgrid" / "version.h" for folder in folders) if path.is_file()), None)


def _header_version(header: Path) -> str:
    numbers = dict(re.findall(r"#define SIMGRID_VERSION_(MAJOR|MINOR|PATCH)\s+(\d+)", header.read_text("utf-8")))
    if not {"MAJOR", "MINOR"} <= numbers.keys():
        raise UserError(str(header), "does not say its SimGrid version", INSTALL)
    return f"{numbers['MAJOR']}.{numbers['MINOR']}.{numbers.get('PATCH', 0)}"


def _python_module() -> Path | None:
    """Return the file that ``import simgrid`` would load, without loading it.

    PathFinder does not look among this project's modules.
    """
    spec = importlib.machinery.PathFinder.find_spec("simgrid")
    return Path(spec.origin) if spec is not None and spec.origin else None


def _ask_python_module(module: Path) -> str:
    """Return the version of the module, asked in a child process.

    Importing the module prints a line, and a process can hold only one engine.
    """
    try:
        answer = subprocess.run(
            [sys.executable, "-c", _ASK_PYTHON], capture_output=True, text=True, timeout=60, check=False, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired) as err:
        raise UserError(str(module), f"cannot be imported: {err}", INSTALL) from err
    if answer.returncode != 0:
        reason = (answer.stderr.strip().splitlines() or ["no message"])[-1]
        raise UserError(str(module), f"cannot be imported: {reason}", INSTALL)
    return _version_in(answer.stdout.strip().splitlines()[-1] if answer.stdout.strip() else "", str(module))


def _fingerprint(smpirun: Path) -> list[str]:
    """Return path, time and size of the files that decide the result of the check."""
    smpicc = find_program("smpicc")
    files = [smpirun, Path(smpicc) if smpicc else None, _header(smpirun), _python_module(), Path(sys.executable)]
    prefix = chosen_prefix()
    libraries = [] if prefix is None else sorted(path for path in (prefix / "lib").rglob("*") if path.is_file())
    return [_stamp(file) for file in (*files, *libraries)]


def _stamp(file: Path | None) -> str:
    if file is None:
        return "absent"
    status = file.stat()
    return f"{file} {status.st_mtime_ns} {status.st_size}"


def _memory(fingerprint: list[str]) -> Path:
    """Return the file that keeps the result for the examined files, regardless of their times and sizes.

    Each set of files has its own, because several environments of Python may share the cache folder.
    """
    paths = "\n".join(stamp.rsplit(" ", 2)[0] for stamp in fingerprint)
    return cache_folder() / f"simgrid-check-{hashlib.sha256(os.fsencode(paths)).hexdigest()[:16]}.json"


def _remembered(fingerprint: list[str]) -> str | None:
    """Return the kept version if it was found for this fingerprint, else None."""
    try:
        known = json.loads(_memory(fingerprint).read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(known, dict) or known.get("fingerprint") != fingerprint:
        return None
    version = known.get("version")
    return version if isinstance(version, str) else None


_MERGED_FROM = (3, 34)  # SimGrid's ChangeLog
_SMPI_NAMES = {"network/bandwidth-factor": "smpi/bw-factor", "network/latency-factor": "smpi/lat-factor"}


def under_smpi_names(options: Mapping[str, str]) -> dict[str, str]:
    """Return the same options with the bandwidth and latency factors under the names that SMPI has always used.

    Up to SimGrid 3.32, ``network/bandwidth-factor`` and ``network/latency-factor`` belong to other network models;
    SMPI's model does not read them.  From 3.34 on they are the same options as ``smpi/bw-factor`` and
    ``smpi/lat-factor``.  If both names of an option are given, the later one counts.
    """
    merged = version_numbers() >= _MERGED_FROM
    return {_SMPI_NAMES.get(key, key) if merged else key: value for key, value in options.items()}
