"""Programs of the user.

A program is a source file in C, C++ or Fortran, a binary that smpicc, smpicxx or smpif90 built, or a source file in
Python, which runs on S4U (apps/s4u); or a binary of an ordinary MPI or a script with mpi4py, of which a recording under
this computer's own MPI is taken (apps/programs/native.py).
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from apps.errors import KernelError, OptionError
from apps.programs.libraries import exported_names, libraries
from platforms.addons import is_there, provided
from platforms.files.reading import input_bytes
from platforms.simgrid.compiling import COMPILER_VARIABLES, compile_once, compiler_stamps, find_compiler, is_system
from platforms.simgrid.includes import included_files

_MOST_INPUT_BYTES = 16 << 20


def read_templates(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return name and text of each file that is given as NAME=TEMPLATE or TEMPLATE, in the order of the names.

    Without NAME a file has the name of its template.

    Raises:
        OptionError: A template cannot be read, a name has a folder, or two files have one name.
    """
    made: dict[str, str] = {}
    for text in texts:
        name, equals, template = text.partition("=")
        if not equals:
            name, template = os.path.basename(text), text
        where = f"--program-file {text}"
        if not name or name in (".", "..") or "/" in name or not template:
            remedy = "Write NAME=TEMPLATE, NAME without a folder, or the name of the template alone"
            raise OptionError(where, "not the name of a file in the folder of a run", remedy)
        if name in made:
            raise OptionError(where, f"there are two files {name}", "Drop one")
        try:
            content = input_bytes(template, most_bytes=_MOST_INPUT_BYTES)
        except OSError as err:
            raise OptionError(where, f"{template} cannot be read: {err.strerror}", "Name an existing file") from err
        made[name] = content.decode("utf-8", "surrogateescape")
    return tuple(sorted(made.items()))


PLACEHOLDER = "{iterations}"
SHARES = "{shares}"  # in the arguments: the shares of all ranks, separated by commas
# -g: the lines of call sites.  The others let the compiler do what it does for an ordinary MPI: SimGrid's malloc hides
# which arrays are apart, and functions of a shared object, which a program is here, could be replaced by others.
FLAGS = ("-O2", "-g", "-fno-semantic-interposition", "-DSMPI_NO_OVERRIDE_MALLOC")
PYTHON = ".py"  # the suffix of a source in Python
# Add-ons.
_PYTHON, _NATIVE, _PRINTED = "apps.programs.python_source", "apps.programs.native", "apps.programs.printed_time"
_WATCHED = "apps.programs.watched.builds"
_COMPILERS = {  # by suffix of a source file
    **dict.fromkeys((".c",), "smpicc"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".C"), "smpicxx"),
    **dict.fromkeys((".f90", ".F90", ".f", ".F"), "smpif90"),
}
_ASKS_FOR_ITS_NAME = (b"__FILE__", b"__BASE_FILE__", b"__builtin_FILE", b"source_location")
_UNPASSABLE = set("*?[]\\'\"$`|&;<>()")  # smpirun is a shell script that does not quote its arguments
_MOST_BYTES = 512 << 20
_ELF, _SHARED_OBJECT = b"\x7fELF", 3


class Timer(Protocol):
    """The clock readings that bound the time printed by a program (apps/programs/printed_time.py)."""

    @property
    def rank(self) -> int | None:
        """The rank whose time is printed, or None for the longest time of all ranks."""

    def settings(self, iterations: int) -> dict[str, str]:
        """Return the recorder's settings for a run of a number of iterations."""


class NativeMpi(Protocol):
    """The MPI of a program that SimGrid cannot run (apps/programs/native.py)."""

    @property
    def family(self) -> Any:
        """The kind of MPI, with its name and the launcher's options."""

    @property
    def interpreter(self) -> Path | None:
        """The Python that runs a script; None if the program is an executable."""

    @property
    def marks(self) -> tuple[str, ...]:
        """Versions and states of libraries that determine a script's behaviour."""

    @property
    def library(self) -> Path:
        """The file of the library."""

    @property
    def launcher(self) -> Path:
        """The launcher of the library."""

    @property
    def compiler(self) -> Path:
        """The library's compiler of C."""


def _python() -> Any:
    return provided(_PYTHON)


@dataclass(frozen=True)
class UserProgram:
    """A program and its arguments; equal objects describe the same runs."""

    name: str  # for tables and messages
    # Hash of the source, all files that it includes, the compiler and its flags; or of the binary and its libraries; or
    # of a source in Python with the modules that it imports from its own folder.
    content_hash: str
    arguments: tuple[str, ...]  # with PLACEHOLDER in place of the number of iterations
    # Number of iterations of a full run; None: neither arguments nor files have a PLACEHOLDER.  Each of them is
    # ``period`` iterations of the program's own count, which has ``rest`` more.
    iterations: int | None
    path: Path = field(compare=False)  # absolute
    # Hash of the file as it was read; None: content_hash.  They differ where the content is known from elsewhere.
    read_hash: str | None = field(default=None, compare=False)
    simulated: bool = True  # SimGrid can run it; False: a program that uses an ordinary MPI
    native: NativeMpi | None = None  # that MPI, where it is one of this computer
    recorded: bool = False  # only its recording is known (predictor/evidence/given.py): it cannot be run
    flags: tuple[str, ...] = ()  # of the compiler, for a source, besides FLAGS
    status: int = 0  # exit status of a run that succeeds
    # Functions whose results vary from run to run, but do not affect the course according to the user.
    assumed: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()  # files in the folder of a run: name, and text with PLACEHOLDER
    # Text of its output with {time} in place of the time to use; None: the time of its timed section.
    time_from: str | None = None
    # The readings of a clock that bound it (apps/runs/timer.py); None: not known yet.
    timer: Timer | None = field(default=None, compare=False)
    period: int = 1
    rest: int = 0

    @property
    def is_python(self) -> bool:
        """True for a source file in Python that runs on S4U."""
        return self.path.suffix == PYTHON and self.simulated

    @property
    def is_source(self) -> bool:
        """True for a source file that must be compiled."""
        return self.path.suffix in _COMPILERS

    @property
    def takes_shares(self) -> bool:
        """True if the arguments contain the division of the data."""
        return any(SHARES in argument for argument in self.arguments)

    def arguments_for(self, iterations: int, shares: Sequence[float]) -> tuple[str, ...]:
        """Return the arguments for a run.

        Args:
            iterations: Number of iterations; that of the program's own count stands in place of PLACEHOLDER.
            shares: The part of the data of every rank, in place of SHARES.
        """
        divided = ",".join(f"{share:.6g}" for share in shares)
        return tuple(
            argument.replace(PLACEHOLDER, self._own(iterations)).replace(SHARES, divided) for argument in self.arguments
        )

    def files_for(self, iterations: int) -> dict[str, str]:
        """Return the text of each file that a run of ``iterations`` iterations needs, by name."""
        return {name: text.replace(PLACEHOLDER, self._own(iterations)) for name, text in self.files}

    def _own(self, iterations: int) -> str:
        return str(iterations * self.period + self.rest)

    def in_periods(self, period: int) -> UserProgram:
        """Return the program with iterations of ``period`` of its own each.

        Raises:
            OptionError: It has fewer, or no iterations.
        """
        where = f"--program-period {period}"
        if period < 1 or self.iterations is None or self.iterations < period:
            remedy = "Give the number of iterations after which its calls repeat, and --program-iterations"
            raise OptionError(where, f"the program has {self.iterations or 'no'} iterations", remedy)
        made = hashlib.sha256(repr((self.content_hash, period, self.iterations)).encode()).hexdigest()
        return replace(
            self,
            content_hash=made,
            read_hash=self.read_hash or self.content_hash,
            iterations=self.iterations // period,
            period=period,
            rest=self.iterations % period,
        )


def read_program(
    path: str | Path,
    arguments: str = "",
    iterations: int | None = None,
    *,
    real_mpi: bool = False,
    flags: str = "",
    status: int = 0,
    assumed: Sequence[str] = (),
    files: Sequence[str] = (),
    time_from: str | None = None,
) -> UserProgram:
    """Return the program in a file, checked as far as possible without compiling or running it.

    Args:
        path: Source file or binary.
        arguments: The program's arguments, split as in a shell; ``{iterations}`` stands for the number of iterations.
        iterations: The value of ``{iterations}`` in a full run.
        real_mpi: The program is for a real machine: a binary has to be built for its MPI library.
        flags: More arguments of the compiler, for a source.
        status: The exit status of a run that succeeds.
        assumed: Functions whose results vary without affecting its course.
        files: Files in the folder of a run, as NAME=TEMPLATE or TEMPLATE: the template with ``{iterations}`` replaced.
        time_from: Text of its output with ``{time}`` in place of the time to use.

    Raises:
        KernelError: The file cannot be run, or the arguments are not usable.
    """
    path = Path(path)
    where = f"--program {path}"
    if not os.path.isfile(path):
        problem = "it is a folder" if os.path.isdir(path) else "no such file"
        raise KernelError(where, problem, "Name a source file or a program built by smpicc, smpicxx or smpif90")
    try:
        content = input_bytes(path, most_bytes=_MOST_BYTES)
    except OSError as err:
        raise KernelError(where, f"cannot be read: {err.strerror}", "Make it readable") from err
    native = None
    if path.suffix == PYTHON and _python().uses_mpi4py(path):
        native = provided(_NATIVE).mpi_of_script(path)
    elif path.suffix == PYTHON:
        _python().check_program(path)
    elif path.suffix not in _COMPILERS:
        native = _mpi_of_binary(path, content, where, real_mpi=real_mpi)
    if native is not None and status:
        raise OptionError(f"--program-status {status}", "goes with simulated programs", "Leave it out")
    own_flags = _flags(flags, path)
    read_hash = _content_hash(path, content, _included(path, own_flags), own_flags, native)
    made = read_templates(files)
    if made and (native is not None or real_mpi or path.suffix == PYTHON):
        raise OptionError(f"--program-file {files[0]}", "goes with programs that SMPI runs", "Leave it out")
    if time_from is not None:
        provided(f"{_PRINTED}:check_pattern")(time_from)
        if native is None and (real_mpi or path.suffix == PYTHON):
            problem = "does not go with --machine or with programs for S4U"
            raise OptionError(f"--time-from {time_from!r}", problem, "Leave it out")
    extras = (made, time_from) if time_from is not None else made
    program = UserProgram(
        # Of a binary, such as lulesh2.0, the last suffix belongs to the name.
        name=path.stem if path.suffix in (*_COMPILERS, PYTHON) else path.name,
        content_hash=hashlib.sha256(repr((read_hash, extras)).encode()).hexdigest() if extras else read_hash,
        arguments=_split(arguments, any_word=native is not None or path.suffix == PYTHON),
        iterations=iterations,
        path=path.absolute(),
        read_hash=read_hash,
        simulated=native is None and (path.suffix in (*_COMPILERS, PYTHON) or not real_mpi),
        native=native,
        flags=own_flags,
        status=status,
        assumed=tuple(assumed),
        files=made,
        time_from=time_from,
    )
    _check_iterations(program)
    return program


def executable(program: UserProgram) -> Path:
    """Return the executable for smpirun: the binary itself, or the source, compiled on first use and cached.

    Raises:
        UserError: The source cannot be compiled.
    """
    included = check_unchanged(program)
    if not program.is_source:
        return program.path
    compiler = _COMPILERS[program.path.suffix]
    flags, libraries = split_flags(program.flags)
    return compile_once(
        program.name,
        [program.path],
        compiler=[compiler],
        flags=[*FLAGS, *flags],
        libraries=libraries,
        included=included,
        watch=watch(included),
    )


def watch(included: Container[Path]) -> Any:
    """Return a watcher for the build of a source with the known files ``included``; None without that add-on."""
    return provided(_WATCHED).WatchedBuild(included) if is_there(_WATCHED) else None


def built_from(executable: Path) -> dict[str, str] | None:
    """Return the state of the other files that determined an executable; None if they could not be observed."""
    files: dict[str, str] | None = provided(_WATCHED).opened_by_build(executable) if is_there(_WATCHED) else {}
    return files


def split_flags(flags: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the flags before the source, and the library flags after it."""
    libraries = [flag for flag in flags if flag.startswith("-l")]
    return [flag for flag in flags if flag not in libraries], libraries


def check_unchanged(program: UserProgram) -> dict[Path, str]:
    """Check that a program and its files have not changed since they were read.

    Returns:
        The fingerprints of the files that a source includes (platforms/simgrid/includes.py); none for other programs.

    Raises:
        KernelError: It has been changed meanwhile.
    """
    included: dict[Path, str] = {}
    try:
        included = _included(program.path, program.flags)
        now = _content_hash(program.path, program.path.read_bytes(), included, program.flags, program.native)
        same = now == (program.read_hash or program.content_hash)
    except OSError:
        same = False
    if not same:
        raise KernelError(
            f"--program {program.path}", "it was changed while the command ran", "Start the command again"
        )
    return included


def _split(arguments: str, *, any_word: bool) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(arguments))
    except ValueError as err:
        raise OptionError(f"--program-args {arguments!r}", str(err).lower(), "Close the quotation") from err
    for word in () if any_word else words:
        if not word or set(word) & _UNPASSABLE or any(character.isspace() for character in word):
            problem = f"smpirun cannot pass the argument {word!r}"
            raise OptionError("--program-args", problem, "Leave out blanks inside words, quotes and shell characters")
    return words


def _check_iterations(program: UserProgram) -> None:
    texts = (*program.arguments, *(text for _, text in program.files))
    has_placeholder = any(PLACEHOLDER in text for text in texts)
    if has_placeholder and program.iterations is None:
        problem = f"they contain {PLACEHOLDER}, but the number of iterations of a full run is not given"
        where = "--program-args" if any(PLACEHOLDER in word for word in program.arguments) else "--program-file"
        raise OptionError(where, problem, "Give --program-iterations N too")
    if program.iterations is not None:
        where = f"--program-iterations {program.iterations}"
        if not has_placeholder:
            problem = "neither arguments nor files contain it" if program.files else "the arguments do not contain it"
            remedy = f"Write {PLACEHOLDER} in --program-args, or in an input file (--program-file)"
            raise KernelError(where, problem, remedy)
        if program.iterations < 1:
            raise KernelError(where, "not positive", "Give at least 1")


def _mpi_of_binary(path: Path, content: bytes, where: str, *, real_mpi: bool) -> NativeMpi | None:
    """Check a binary, and return the ordinary MPI that it uses; None: it is one for SMPI."""
    remedy = "Build it with smpicc, smpicxx or smpif90, or with an MPI of this computer, or give the source"
    if not content.startswith(_ELF):
        endings = ", ".join((*_COMPILERS, PYTHON))
        raise KernelError(where, "neither a program for this system nor a known kind of source", f"Known: {endings}")
    header = Path(sys.executable).read_bytes()[:20]
    # ELF header: class and byte order at 4 and 5, type at 16, machine at 18.
    if (content[4:6], content[18:20]) != (header[4:6], header[18:20]):
        raise KernelError(where, "it is for another processor", "Build it on this machine")
    if b"libsimgrid.so" not in content:
        native: NativeMpi | None = None
        if is_there(_NATIVE):
            native = provided(_NATIVE).mpi_of_libraries(libraries(path))
        if native is None and not real_mpi:  # that of another machine need not be here
            static = b"MPI_Init" in content
            problem = "its MPI library is linked statically" if static else "it uses no MPI library that is known"
            raise KernelError(where, problem, remedy)
        return native
    if real_mpi:
        remedy = "Build it with the machine's own compiler, or give the source"
        raise KernelError(where, "it was built for SimGrid's MPI, and the machine has its own", remedy)
    kind = int.from_bytes(content[16:18], "little" if content[5] == 1 else "big")
    if kind != _SHARED_OBJECT or not {"main", "user_main_"} & exported_names(path):
        raise KernelError(where, "not an SMPI program: it has no main that SimGrid could load", remedy)
    return None


def _included(path: Path, flags: Sequence[str]) -> dict[Path, str]:
    compiler = _COMPILERS.get(path.suffix)
    return {} if compiler is None else included_files(path, compiler=compiler, flags=(*FLAGS, *split_flags(flags)[0]))


def _flags(text: str, path: Path) -> tuple[str, ...]:
    """Return the flags for a source, with the folders that they name as seen from the current one."""
    where = f"--program-flags {text!r}"
    try:
        words = shlex.split(text)
    except ValueError as err:
        raise OptionError(where, str(err).lower(), "Close the quotation") from err
    if words and path.suffix not in _COMPILERS:
        raise OptionError(where, f"{path} is not compiled here", "Give it to --program-build, or leave it out")
    if any(set(word) & _UNPASSABLE for word in words):
        problem = "SimGrid's compilers cannot pass quotes and shell characters"
        raise OptionError(where, problem, "Define such values in a file that the source includes")
    # The compiler runs in a folder of its own.
    return tuple(
        word[:2] + os.path.abspath(word[2:]) if word[:2] in ("-I", "-L") and len(word) > 2 else word for word in words
    )


def _content_hash(
    path: Path, content: bytes, included: Mapping[Path, str], flags: Sequence[str], native: NativeMpi | None
) -> str:
    if path.suffix == PYTHON and native is not None:
        return hashlib.sha256(repr((_python().content_hash(path), native.marks)).encode()).hexdigest()
    if path.suffix == PYTHON:
        content_hash: str = _python().content_hash(path)
        return content_hash
    if path.suffix not in _COMPILERS:
        return hashlib.sha256(repr((hashlib.sha256(content).hexdigest(), libraries(path))).encode()).hexdigest()
    compiler = _COMPILERS[path.suffix]
    environment = [os.environ.get(name) for name in COMPILER_VARIABLES]
    if any(word in file.read_bytes() for file in included if not is_system(file) for word in _ASKS_FOR_ITS_NAME):
        environment.append(str(path.absolute()))
    names = [os.path.relpath(file, path.parent) if not is_system(file) else str(file) for file in included]
    names[0] = path.suffix  # a copy under another name is the same program
    hashed = [*compiler_stamps(find_compiler(compiler)), *FLAGS, *flags, environment, names, [*included.values()]]
    return hashlib.sha256(repr(hashed).encode()).hexdigest()
