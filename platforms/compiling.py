"""Compile a program once, into the cache folder, and find it there from then on."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from platforms.caching import cache_folder, unusable, write_atomically
from platforms.errors import UserError
from platforms.simgrid import simgrid_version

TIME_LIMIT_S = 300.0
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
    sources = [Path(source).resolve() for source in sources]
    command = [str(program), *compiler[1:], *flags]
    key = _key([*command, "--", *libraries], [*sources, *(Path(header) for header in headers)], program)
    executable = cache_folder() / "compiled" / f"{name}-{key}"
    if not executable.is_file():
        _compile(name, command, sources, libraries, executable)
    return executable


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
        scratch = tempfile.TemporaryDirectory(dir=folder, prefix=f".{name}-")
    except OSError as err:
        raise unusable(folder, err.strerror) from err
    with scratch as work:
        output = Path(work) / executable.name
        full = [*command, "-o", str(output), *(str(source) for source in sources), *libraries]
        try:
            done = subprocess.run(
                full, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
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


def _failure(name: str, done: subprocess.CompletedProcess, log: Path) -> UserError:
    lines = [line.strip() for line in (done.stderr + "\n" + done.stdout).splitlines() if line.strip()]
    lines = lines or ["the compiler said nothing"]
    first = next((line for line in lines if "error: " in line), lines[0])
    if done.returncode == 127:  # smpicc is a script: its own compiler is missing
        return UserError(f"compiling {name}", first, "Run: apt-get install gcc g++ gfortran")
    return UserError(f"compiling {name}", first, f"The full log is in {log}")
