"""Compile a program once, into the cache folder, and find it there from then on."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from platforms.caching import cache_folder, unusable, write_atomically
from platforms.errors import UserError
from platforms.process import die_with_parent
from platforms.scratch import scratch_folder
from platforms.simgrid import compiler_flags, simgrid_version

TIME_LIMIT_S = 300.0
_MOST_NAME = 80  # characters of a program's name in that of its file
_UNUSUAL = re.compile(r"[^\w.+-]")
_UNPASSABLE = re.compile(r"[*?\[\x00-\x1f\x7f]")
_PACKAGES = {"smpicc": "libsimgrid-dev gcc", "smpicxx": "libsimgrid-dev g++", "smpif90": "libsimgrid-dev gfortran"}


def compile_once(
    name: str,
    sources: Sequence[Path],
    *,
    compiler: Sequence[str],
    flags: Sequence[str] = (),
    libraries: Sequence[str] = (),
    headers: Sequence[Path] = (),
) -> Path:
    """The executable of these sources, compiled now if it is not in the cache folder yet.

    ``compiler``, ``flags`` and ``libraries`` are arguments, in this order around the sources, such as ``["smpicc"]``,
    ``["-O2", "-std=gnu11"]`` and ``["-lm"]``.  ``headers`` are the included files of the project.  The contents of
    sources and headers, the command, the compiler file and the SimGrid version decide what is compiled anew.  Several
    processes may compile the same at once.  Raises UserError without a compiler and where compiling fails.
    """
    program = _find_compiler(compiler[0])
    if "-lsimgrid" in libraries:
        flags = [*flags, *compiler_flags()]
    name = _UNUSUAL.sub("_", name)[:_MOST_NAME]
    sources = [Path(source).resolve() for source in sources]
    command = [str(program), *compiler[1:], *flags]
    key = _key([*command, "--", *libraries], [*sources, *(Path(header) for header in headers)], program)
    executable = cache_folder() / "compiled" / f"{name}-{key}"
    if not executable.is_file():
        if program.name in _PACKAGES:
            _check_passable(program.name, [*sources, executable])
        _compile(name, command, sources, libraries, executable)
    return executable


def _check_passable(compiler: str, files: Sequence[Path]) -> None:
    """SimGrid's compilers are shell scripts that would take other files that match the name."""
    for file in files:
        if _UNPASSABLE.search(str(file)):
            raise UserError(f"compiling {file}", f"{compiler} cannot be given such a name", "Rename the file or folder")


def _find_compiler(name: str) -> Path:
    found = shutil.which(name)
    if found is None:
        package = _PACKAGES.get(Path(name).name, Path(name).name)
        raise UserError(f"compiler {name}", "not found", f"Run: apt-get install {package}")
    return Path(found).absolute()


def _key(arguments: Sequence[str], files: Sequence[Path], program: Path) -> str:
    status = program.stat()
    digest = hashlib.sha256(repr((*arguments, status.st_mtime_ns, status.st_size, simgrid_version())).encode())
    for file in files:
        content = file.read_bytes()
        digest.update(f"\0{file.name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:24]


def _compile(name: str, command: list[str], sources: list[Path], libraries: Sequence[str], executable: Path) -> None:
    """Compile beside the final place under a name of our own, then rename: no half program is ever seen."""
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
                [*die_with_parent(), *full], cwd=work, env={**os.environ, "TMPDIR": str(work)},
                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                timeout=TIME_LIMIT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as err:
            problem = f"no end after {TIME_LIMIT_S:g} s"
            raise UserError(f"compiling {name}", problem, "Free the machine, then try again") from err
        if done.returncode != 0 or not output.is_file():
            log = executable.with_name(f"{executable.name}.log")
            write_atomically(log, "\n".join([" ".join(full), done.stdout, done.stderr]).encode())
            raise _failure(name, done, log)
        output.chmod(0o755)
        os.replace(output, executable)


def _failure(name: str, done: subprocess.CompletedProcess[str], log: Path) -> UserError:
    lines = [line.strip() for line in (done.stderr + "\n" + done.stdout).splitlines() if line.strip()]
    lines = lines or ["the compiler said nothing"]
    first = next((line for line in lines if "error: " in line), lines[0])
    if done.returncode == 127:  # smpicc is a script: its own compiler is missing
        return UserError(f"compiling {name}", first, "Run: apt-get install gcc g++ gfortran")
    return UserError(f"compiling {name}", first, f"The full log is in {log}")
