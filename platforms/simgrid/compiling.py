"""Compile programs once and keep the executables in the cache folder."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from platforms.errors import UserError
from platforms.files.caching import cache_folder, unusable, write_atomically
from platforms.files.scratch import scratch_folder
from platforms.simgrid.child import clean_environment, die_with_parent
from platforms.simgrid.installed import compiler_flags, simgrid_version

TIME_LIMIT_S = 300.0
_MOST_NAME = 80  # characters of a program's name that its file name keeps
_UNUSUAL = re.compile(r"[^\w.+-]")
_UNPASSABLE = re.compile(r"[*?\[\x00-\x1f\x7f]")
_REAL = re.compile(rb"^(?:CC|CXX|REAL_FORTRAN_COMPILER)=(\S+)$", re.MULTILINE)  # in SimGrid's compiler scripts
_PACKAGES = {"smpicc": "libsimgrid-dev gcc", "smpicxx": "libsimgrid-dev g++", "smpif90": "libsimgrid-dev gfortran"}

# Environment variables that decide what a compiler makes of the same sources.
COMPILER_VARIABLES = (
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "OBJC_INCLUDE_PATH", "LIBRARY_PATH", "LD_RUN_PATH"),
    *("GCC_EXEC_PREFIX", "COMPILER_PATH", "SOURCE_DATE_EPOCH", "DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"),
)


def compile_once(
    name: str,
    sources: Sequence[Path],
    *,
    compiler: Sequence[str],
    flags: Sequence[str] = (),
    libraries: Sequence[str] = (),
    headers: Sequence[Path] = (),
    included: Mapping[Path, str] | None = None,
) -> Path:
    """Return the executable of these sources; compile it if it is not in the cache folder yet.

    It is compiled anew when the contents of the sources or headers, the command, the compiler, its environment or the
    SimGrid version change.  Several processes may compile the same program at once.

    Args:
        name: Name of the program; the name of the executable begins with it.
        sources: The source files.
        compiler: The compiler's name and first arguments, such as ``["smpicc"]``.
        flags: Arguments before the sources, such as ``["-O2", "-std=gnu11"]``.
        libraries: Arguments after the sources, such as ``["-lm"]``.
        headers: The files of the project that the sources include.
        included: Instead of headers, all files that the sources include, with their fingerprints (``includes.py``).
            The executable is then used for sources of these paths only, because they may ask for their own names.

    Raises:
        UserError: The compiler is missing, or compiling fails.
    """
    program = find_compiler(compiler[0])
    if "-lsimgrid" in libraries:
        flags = [*flags, *compiler_flags()]
    name = file_name(name)
    sources = [Path(source).resolve() for source in sources]
    command = [str(program), *compiler[1:], *flags]
    arguments = [*command, "--", *libraries]
    if included is not None:
        arguments += [*map(str, sources), *(f"{path} {mark}" for path, mark in included.items())]
    key = _key(arguments, [*sources, *(Path(header) for header in headers)], program)
    executable = cache_folder() / "compiled" / f"{name}-{key}"
    if not executable.is_file():
        if program.name in _PACKAGES:
            check_passable(program.name, [*sources, executable])
        _compile(name, command, sources, libraries, executable)
    return executable


def check_passable(compiler: str, files: Sequence[Path]) -> None:
    """Refuse names with wildcards: SimGrid's compilers are shell scripts that would expand them to other files."""
    for file in files:
        if _UNPASSABLE.search(str(file)):
            raise UserError(f"compiling {file}", f"{compiler} cannot be given such a name", "Rename the file or folder")


def find_compiler(name: str) -> Path:
    """Return the path of a compiler.  Raise UserError if it is missing."""
    found = shutil.which(name)
    if found is None:
        package = _PACKAGES.get(Path(name).name, Path(name).name)
        raise UserError(f"compiler {name}", "not found", f"Run: apt-get install {package}")
    return Path(found).absolute()


def file_name(name: str) -> str:
    """Return the beginning of the names of a program's files in the cache folder."""
    return _UNUSUAL.sub("_", name)[:_MOST_NAME]


def real_compiler(program: Path) -> Path:
    """Return the compiler that a script of SimGrid's calls; a compiler that is no such script is returned itself."""
    named = _REAL.search(program.read_bytes()) if program.name in _PACKAGES else None
    found = shutil.which(os.fsdecode(named[1])) if named else None
    return Path(found) if found else program


def compiler_stamps(program: Path) -> list[str]:
    """Return path, time and size of a compiler, and of the one that it calls."""
    stamps = []
    for path in (program, real_compiler(program)):
        status = path.stat()
        stamps.append(f"{path.resolve()} {status.st_mtime_ns} {status.st_size}")
    return stamps


def _key(arguments: Sequence[str], files: Sequence[Path], program: Path) -> str:
    decides = (*arguments, *compiler_stamps(program), *map(os.environ.get, COMPILER_VARIABLES), simgrid_version())
    digest = hashlib.sha256(repr(decides).encode())
    for file in files:
        content = file.read_bytes()
        digest.update(f"\0{file.name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:24]


def _compile(name: str, command: list[str], sources: list[Path], libraries: Sequence[str], executable: Path) -> None:
    """Compile in a scratch folder beside the executable, then rename, so that nobody sees an incomplete executable."""
    folder = executable.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise unusable(folder, err.strerror or str(err)) from err
    with scratch_folder("compiling", folder) as work:
        output = work / executable.name
        full = [*command, "-o", str(output), *(str(source) for source in sources), *libraries]
        try:
            done = subprocess.run(
                [*die_with_parent(), *full], cwd=work, env={**clean_environment(), "TMPDIR": str(work)},
                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                timeout=TIME_LIMIT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as err:
            raise not_finished(name) from err
        if done.returncode != 0 or not output.is_file():
            raise failed(name, done, full, executable.with_name(f"{executable.name}.log"))
        output.chmod(0o755)
        os.replace(output, executable)


def not_finished(name: str) -> UserError:
    """Return the error for a compiler that takes too long."""
    problem = f"not finished after {TIME_LIMIT_S:g} s"
    return UserError(f"compiling {name}", problem, "Stop other work on this machine, then try again")


def failed(name: str, done: subprocess.CompletedProcess[str], command: Sequence[str], log: Path) -> UserError:
    """Write the log of a compiler that failed, and return the error."""
    content = "\n".join([" ".join(command), done.stdout, done.stderr])
    write_atomically(log, content.encode("utf-8", "replace"))
    lines = [line.strip() for line in (done.stderr + "\n" + done.stdout).splitlines() if line.strip()]
    lines = lines or ["the compiler printed no message"]
    first = next((line for line in lines if "error: " in line), lines[0])
    if done.returncode == 127:  # smpicc is a script, and the compiler that it calls is missing
        return UserError(f"compiling {name}", first, "Run: apt-get install gcc g++ gfortran")
    return UserError(f"compiling {name}", first, f"The full log is in {log}")
