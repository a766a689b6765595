"""Compile programs once and keep the executables in the cache folder.

Every kept executable ends in a checksum of itself, behind all that the loader reads.  One that does not match its
checksum is recompiled.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from platforms.errors import UserError, printable
from platforms.files.caching import cache_folder, sync_folder, unusable, write_atomically
from platforms.files.commands import find_command, runs_programs
from platforms.files.scratch import scratch_folder
from platforms.simgrid.child import clean_environment, die_with_parent
from platforms.simgrid.installed import chosen_prefix, compiler_flags, find_program, simgrid_version, uses_wheel

TIME_LIMIT_S = 300.0
# The project's own programs that the wheel brings compiled; COMPILED names the folder in which they are made for it.
_ROOT = Path(__file__).parents[2]
_SHIPPED, COMPILED = _ROOT / "_compiled", "GRIDVAL_COMPILED"
_SYSTEM = ("/usr/", "/lib/", "/lib64/")  # files of packages: they are identified by time and size, not by content
_LOCAL = "/usr/local/"  # what no package has put there
_SEAL = b"\nsha256 "  # comes before the checksum of an executable, at its end
_MOST_NAME = 80  # characters of a program's name that its file name keeps
_UNUSUAL = re.compile(r"[^\w.+-]")
_UNPASSABLE = re.compile(r"[*?\[\x00-\x1f\x7f]")
_REAL = re.compile(rb"^(?:CC|CXX|REAL_FORTRAN_COMPILER)=(\S+)$", re.MULTILINE)  # in SimGrid's compiler scripts
_MPI_PACKAGES = {
    **dict.fromkeys(("mpicc", "mpicxx", "mpif90", "mpifort"), "libopenmpi-dev openmpi-bin gcc g++ gfortran"),
    **dict.fromkeys(("mpicc.mpich", "mpicxx.mpich", "mpifort.mpich", "mpif90.mpich"), "libmpich-dev mpich"),
    **{name: name for name in ("gcc", "g++", "gfortran", "clang")},
}
_PACKAGES = {"smpicc": "libsimgrid-dev gcc", "smpicxx": "libsimgrid-dev g++", "smpif90": "libsimgrid-dev gfortran"}

# Environment variables that decide what a compiler makes of the same sources.
COMPILER_VARIABLES = (
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "LIBRARY_PATH", "LD_RUN_PATH"),
    *("GCC_EXEC_PREFIX", "COMPILER_PATH", "SOURCE_DATE_EPOCH", "DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"),
)


class Watch(Protocol):
    """Watches what a build opens (apps/programs/watched)."""

    def unchanged(self, executable: Path) -> bool:
        """Return whether all files that the build of an executable opened are unchanged."""

    def environment(self, work: Path) -> Mapping[str, str]:
        """Return the variables for the build in a folder."""

    def keep(self, executable: Path, work: Path) -> None:
        """Keep what the build in a folder has opened."""


def compile_once(
    name: str,
    sources: Sequence[Path],
    *,
    compiler: Sequence[str],
    flags: Sequence[str] = (),
    libraries: Sequence[str] = (),
    headers: Sequence[Path] = (),
    included: Mapping[Path, str] | None = None,
    folder: Path | None = None,
    watch: Watch | None = None,
) -> Path:
    """Return the executable of these sources; compile it if it is not in the cache folder yet.

    It is recompiled when the contents of the sources or headers, the command, the compiler, its environment or the
    SimGrid version change, or when it has been damaged, which a warning says.  Several processes may compile the same
    program at once.

    Args:
        name: Name of the program; the name of the executable begins with it.
        sources: The source files.
        compiler: The compiler's name and first arguments, such as ``["smpicc"]``.
        flags: Arguments before the sources, such as ``["-O2", "-std=gnu11"]``.
        libraries: Arguments after the sources, such as ``["-lm"]``.
        headers: The files of the project that the sources include.
        included: Instead of headers, all files that the sources include, with their fingerprints (``includes.py``).
            The executable is then used for sources of these paths only, because they may ask for their own names.
        folder: Where executables are kept; None: in the cache folder.
        watch: Knows the other files that the build opens, whose change has the program compiled again; None: there are
            none but files of the system.

    Raises:
        UserError: The compiler is missing, or compiling fails.
    """
    name = file_name(name)
    sources = [Path(source).resolve() for source in sources]
    shipped = None
    if included is None and folder is None:
        shipped = _shipped(name, [*compiler, *flags, "--", *libraries], [*sources, *map(Path, headers)])
        if shipped is not None and not os.environ.get(COMPILED) and _is_whole(shipped):
            return shipped
    program = find_compiler(compiler[0])
    if "-lsimgrid" in libraries:
        flags = [*flags, *compiler_flags()]
    command = [str(program), *compiler[1:], *flags]
    arguments = [*command, "--", *libraries]
    if included is not None:
        arguments += [*map(str, sources), *(f"{path} {mark}" for path, mark in included.items())]
    files = [*sources, *(Path(header) for header in headers)]
    key = _key(arguments, files, program)
    executable = (folder or cache_folder() / "compiled") / f"{name}-{key}"
    if shipped is not None and os.environ.get(COMPILED):
        executable = shipped
    if not _is_whole(executable) or (watch is not None and not watch.unchanged(executable)):
        if program.name in _PACKAGES:
            check_passable(program.name, [*sources, executable])
        with scratch_folder("compiling", _made(executable.parent)) as work:
            output = work / executable.name
            log = executable.with_name(f"{executable.name}.log")
            _compile(name, command, sources, libraries, output, log=log, watch=watch)
            if _key(arguments, files, program) != key or not _same(included or {}):
                raise UserError(f"compiling {name}", "its files changed meanwhile", "Start the command again")
            if watch is not None:
                watch.keep(executable, work)
            _keep(output, executable)
    return executable


def check_passable(compiler: str, files: Sequence[Path]) -> None:
    """Refuse names with wildcards: SimGrid's compilers are shell scripts that would expand them to other files."""
    for file in files:
        if _UNPASSABLE.search(str(file)):
            raise UserError(f"compiling {file}", f"{compiler} cannot be given such a name", "Rename the file or folder")


def find_compiler(name: str) -> Path:
    """Return the path of a compiler.  Raise UserError if it is missing."""
    path = find_program(name) if name in _PACKAGES else find_command(name)
    if path is None:
        package = {**_PACKAGES, **_MPI_PACKAGES}.get(Path(name).name)
        remedy = f"Run: apt-get install {package}" if package else "Correct its name, or put its folder on the PATH"
        raise UserError(f"compiler {name}", "not found", remedy)
    return Path(path).absolute()


def file_name(name: str) -> str:
    """Return the beginning of the names of a program's files in the cache folder."""
    return _UNUSUAL.sub("_", name)[:_MOST_NAME]


def real_compiler(program: Path) -> Path:
    """Return the compiler that a script of SimGrid's calls; a compiler that is no such script is returned itself."""
    named = _REAL.search(program.read_bytes()) if program.name in _PACKAGES else None
    path = shutil.which(os.fsdecode(named[1])) if named else None
    zig = program.resolve().parent.parent.parent / "ziglang" / "zig"  # what the scripts of SimGrid's wheel call instead
    return Path(path) if path else zig if named and zig.is_file() else program


def compiler_stamps(program: Path) -> list[str]:
    """Return path, time and size of a compiler, and of the one that it calls."""
    stamps = []
    for path in (program, real_compiler(program)):
        status = path.stat()
        stamps.append(f"{path.resolve()} {status.st_mtime_ns} {status.st_size}")
    return stamps


def _key(arguments: Sequence[str], files: Sequence[Path], program: Path) -> str:
    environment = map(os.environ.get, COMPILER_VARIABLES)
    return _hash((_SEAL, *arguments, *compiler_stamps(program), *environment, simgrid_version()), files)


def _shipped(name: str, words: Sequence[str], files: Sequence[Path]) -> Path | None:
    """Return where the wheel has, or is to have, the executable of the project's own files.

    None in a checkout, and where another SimGrid is used than the one for which the wheel has compiled them.  The name
    says what is compiled, not by which compiler.
    """
    made_in = os.environ.get(COMPILED)
    if not made_in and not (_SHIPPED.is_dir() and uses_wheel()):
        return None
    words = [word.replace(str(_ROOT), "") for word in words]
    return (Path(made_in) if made_in else _SHIPPED) / f"{name}-{_hash((*words, simgrid_version()), files)}"


def shipped_programs() -> int:
    """Return how many executables the wheel has for the SimGrid that is used; 0 in a checkout."""
    folder = _shipped("", (), ())
    return 0 if folder is None else sum(1 for _ in folder.parent.iterdir())


def _hash(decides: tuple[object, ...], files: Sequence[Path]) -> str:
    digest = hashlib.sha256(repr(decides).encode())
    for file in files:
        content = file.read_bytes()
        digest.update(f"\0{file.name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:24]


def is_system(path: Path) -> bool:
    """Return whether a file belongs to a package of the system, or to the SimGrid that is used instead of its own."""
    if str(path).startswith(_SYSTEM) and not str(path).startswith(_LOCAL):
        return True  # at once: a source includes hundreds, and to look for the wheel takes long
    return (prefix := chosen_prefix()) is not None and path.is_relative_to(prefix)


def fingerprint(path: Path) -> str:
    """Return the key of the version of a file that a source includes.

    Raises:
        OSError: It cannot be read.
    """
    if is_system(path):
        status = path.stat()
        return f"{status.st_mtime_ns} {status.st_size}"
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _same(included: Mapping[Path, str]) -> bool:
    try:
        return all(fingerprint(path) == mark for path, mark in included.items())
    except OSError:
        return False


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise unusable(folder, err.strerror or str(err)) from err
    if not runs_programs(folder):
        raise unusable(folder, "programs in it cannot run (noexec)")
    return folder


def _compile(
    name: str,
    command: list[str],
    sources: list[Path],
    libraries: Sequence[str],
    output: Path,
    *,
    log: Path,
    watch: Watch | None,
) -> None:
    """Compile in the output's folder; the log is written where the compiler fails."""
    work = output.parent
    full = [*command, "-o", str(output), *(str(source) for source in sources), *libraries]
    done = run_compiler(name, full, work, environment={} if watch is None else watch.environment(work))
    if done.returncode != 0 or not output.is_file():
        raise failed(name, done, full, log)


def _keep(output: Path, executable: Path) -> None:
    """Add the checksum and rename the file, durably, so that an incomplete executable is never visible."""
    output.chmod(0o755)
    try:
        with output.open("r+b") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            file.write(_SEAL + digest.encode())  # file_digest has read to the end
            file.flush()
            os.fsync(file.fileno())
        os.replace(output, executable)
        sync_folder(executable.parent)
    except OSError as err:
        raise unusable(executable.parent, err.strerror or str(err)) from err


def _is_whole(executable: Path) -> bool:
    """Return whether an executable is in the cache as it was written; print a warning if it is damaged."""
    try:
        content, _, digest = executable.read_bytes().rpartition(_SEAL)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as err:
        raise unusable(executable.parent, f"{executable.name}: {err.strerror or err}") from err
    if hashlib.sha256(content).hexdigest().encode() == digest and os.access(executable, os.X_OK):
        return True
    print(f"warning: {printable(str(executable))} was damaged. It is recompiled.", file=sys.stderr)
    return False


def run_compiler(
    name: str,
    command: Sequence[str],
    work: Path,
    *,
    errors: str = "replace",
    environment: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run a compiler in a folder, which takes its temporary files too, and return what it said.

    Args:
        name: The program, for error messages.
        command: The compiler and its arguments.
        work: The folder.
        errors: What becomes of output that is not UTF-8, as for bytes.decode.
        environment: More variables.

    Raises:
        UserError: It takes too long.
    """
    try:
        return subprocess.run(
            [*die_with_parent(), *command], cwd=work, env={**clean_environment(), "TMPDIR": str(work), **environment},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors=errors,
            timeout=TIME_LIMIT_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as err:
        problem = f"not finished after {TIME_LIMIT_S:g} s"
        raise UserError(f"compiling {name}", problem, "Stop other work on this machine, then try again") from err


_PLACE = re.compile(r"\S+:\d+:\d+:")  # how gfortran begins a message, which ends some lines further on


def _first_error(lines: Sequence[str]) -> str:
    """Return the compiler's first error in one line, and how many more there are."""
    errors = []
    place = ""
    for line in lines:
        place = line if _PLACE.fullmatch(line) else place
        if "error: " in line:
            errors.append(line)
        elif line.startswith(("Error: ", "Fatal Error: ")):
            errors.append(f"{place} {line}".strip())
    if not errors:
        return lines[0]
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    first = errors[0].rstrip(".")
    if "mpi_f08" in first:
        first += " (SimGrid has no module mpi_f08: use mpi, or include 'mpif.h')"
    return f"{first}{more}"


def failed(name: str, done: subprocess.CompletedProcess[str], command: Sequence[str], log: Path) -> UserError:
    """Write the log of a compiler that failed, and return the error."""
    content = "\n".join([" ".join(command), done.stdout, done.stderr])
    write_atomically(log, content.encode("utf-8", "replace"))
    lines = [line.strip() for line in (done.stderr + "\n" + done.stdout).splitlines() if line.strip()]
    lines = lines or ["the compiler printed no message"]
    first = _first_error(lines)
    if done.returncode == 127:  # smpicc is a script, and the compiler that it calls is missing
        packages = "apt-get install gcc g++ gfortran"
        remedy = f"Run: pip install ziglang (C, C++), or {packages}" if uses_wheel() else f"Run: {packages}"
        return UserError(f"compiling {name}", first, remedy)
    return UserError(f"compiling {name}", first, f"The full log is in {log}")
