"""Compilation for a machine: kernels, the user's programs, and the layer that measures ranks."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from apps.errors import KernelError
from apps.machines.launch import find_launcher
from apps.machines.machine_file import Machine
from apps.programs.compile import kernel_hash
from apps.programs.kernel import Kernel, named_kernel
from apps.programs.own_program import UserProgram, check_unchanged, split_flags, watch
from apps.programs.problem import Problem
from apps.recording.recorder.real.library import Call, mpi_calls
from platforms.files.caching import cache_folder, write_atomically
from platforms.simgrid.compiling import compile_once, compiler_stamps, find_compiler

# Write the wrappers of MPI's functions, in C and for Fortran, from the table of apps/recording/recorder.
#
# A wrapper times a call, counts the data sent, and calls the function of the MPI library.  In C that function has the
# prefix PMPI_.  Fortran has no portable name for it, so its wrapper calls the next function of the same name
# (RTLD_NEXT): ``mpi_send_`` for mpif.h and the module mpi, ``mpi_send_f08_`` for the module mpi_f08, and in MPICH
# ``mpi_send_f08ts_`` for functions with buffers.

# The C type of an argument by its word in the table: in the usual form, and in the form for large counts.
_C_TYPES = {
    "in": "const void *",
    "out": "void *",
    "place": "void *",
    "Count": "int ",
    "Counts": "const int *",
    "Starts": "const int *",
    "Aints": "const MPI_Aint *",
    "Big": "MPI_Count ",
    "int": "int ",
    "int*": "int *",
    "ints": "const int *",
    "parts": "int *",
    "Unit": "int ",
    "text": "char *",
    "texts": "char **",
    "texts*": "char **",
    "textss": "char ***",
    "Types": "const MPI_Datatype *",
    "Type": "MPI_Datatype ",
    "Infos": "const MPI_Info *",
}
_LARGE = {"Count": "MPI_Count ", "Counts": "const MPI_Count *", "Starts": "const MPI_Aint *", "Unit": "MPI_Aint "}
# Expressions that read a value from the address passed by Fortran; other arguments stay addresses.
_READ = {
    "Count": "*{}",
    "Big": "*{}",
    "int": "*{}",
    "Type": "PMPI_Type_f2c(*{})",
    "Comm": "PMPI_Comm_f2c(*{})",
}
_FORTRAN_TYPES = {"Count": "const F *", "Counts": "const F *", "Types": "const F *", "Big": "const MPI_Count *"}
_BUFFERS = ("in", "out")
_POINTER_FORMS = ("Win_allocate", "Win_allocate_shared")  # Fortran has a second function for results of type C_PTR
_HEAD = '#define _GNU_SOURCE\n#include <dlfcn.h>\n\n#include "counting.h"\n#include "fortran.h"\n'


def wrappers(calls: Sequence[Call]) -> str:
    """Return the wrappers in C, as a file to compile in the folder of layer.h."""
    return "\n".join((_HEAD, *(text for call in calls for text in _guarded(call))))


def _guarded(call: Call) -> Iterator[str]:
    if call.extension:
        yield "#if MPI_VERSION < 4 && defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)"
    elif call.since > 3:
        yield f"#if MPI_VERSION >= {call.since}"
    yield _in_c(call, large=False)
    yield from (_in_fortran(call, large=False, f08=f08) for f08 in (False, True))
    if call.name in _POINTER_FORMS:
        second = replace(call, name=f"{call.name}_cptr")
        yield from ("#ifdef OPEN_MPI", _in_fortran(second, large=False, f08=False), "#endif")
    if call.since > 3 or call.extension:
        yield "#endif"
    if call.large and not call.extension:
        yield from ("#if MPI_VERSION >= 4", _in_c(call, large=True), _in_fortran(call, large=True, f08=True), "#endif")


def _in_c(call: Call, *, large: bool) -> str:
    prefix = "MPIX_" if call.extension else "MPI_"
    name = f"{call.name}{'_c' if large else ''}"
    parameters = ", ".join(f"{_c_type(word, large=large)}{argument}" for word, argument in call.arguments)
    passed = ", ".join(argument for _, argument in call.arguments)
    function = f"layer_{name}"
    return _function(
        call, head=f"int {function}({parameters})", symbol=f'"{prefix}{name}"', counted=call.counted,
        made=f"int done = P{prefix}{name}({passed});", request="*r", end="  return done;\n",
    )  # fmt: skip


def _in_fortran(call: Call, *, large: bool, f08: bool) -> str:
    prefix, name = "mpix_" if call.extension else "mpi_", call.name.lower()
    macro = f"{'F08TS' if call.buffers else 'F08'}{'_LARGE' if large else ''}"  # of layer/fortran.h
    symbol = f'{macro}("{prefix}{name}")' if f08 else f'"{prefix}{name}_"'
    types = [_fortran_type(word, large=large) for word, _ in call.arguments]
    lengths = [f"size_t length{number}" for number, (word, _) in enumerate(call.arguments) if word.startswith("text")]
    parameters = ", ".join([f"{kind}{argument}" for kind, (_, argument) in zip(types, call.arguments, strict=True)]
                           + ["F *error", *lengths])  # fmt: skip
    passed = ", ".join(
        [argument for _, argument in call.arguments] + ["error"] + [argument.split()[1] for argument in lengths]
    )
    function = f"layer_{prefix}{name}{'_f08' if f08 else ''}{'_large' if large else ''}"
    return _function(
        call, head=f"void {function}({parameters})", symbol=symbol, counted=_read_by_address(call, f08=f08),
        made=f"static void (*next)({parameters});\n  NEXT(next, {symbol});\n  next({passed});",
        request="PMPI_Request_f2c(*r)", end="",
    )  # fmt: skip


def _function(call: Call, *, head: str, symbol: str, counted: str, made: str, request: str, end: str) -> str:
    kept = f"  layer_kept({request});\n" if call.kept else ""
    prepare = "  layer_prepare();\n" if call.kept else ""
    counts = f"  {counted};\n" if counted else ""
    leave = "layer_leave_file" if call.file else "layer_leave"
    return (
        f"{head} __asm__({symbol});\n{head}\n{{\n"
        f"  layer_enter();\n{prepare}{counts}  {made}\n{kept}  {leave}();\n{end}}}\n"
    )


def _c_type(word: str, *, large: bool) -> str:
    if large and word in _LARGE:
        return _LARGE[word]
    if word in _C_TYPES:
        return _C_TYPES[word]
    return f"MPI_{word[:-1]} *" if word.endswith("*") else f"MPI_{word} "


def _fortran_type(word: str, *, large: bool) -> str:
    if large and word in ("Count", "Counts"):
        return "const MPI_Count *"
    if word in _FORTRAN_TYPES:
        return _FORTRAN_TYPES[word]
    return "void *" if word in _BUFFERS else "F *"


def _read_by_address(call: Call, *, f08: bool) -> str:
    """Return the counting statement with every argument read from the address passed by Fortran."""
    reads = {name: _READ[word].format(name) for word, name in call.arguments if word in _READ}
    place = "BUFFER_F08" if f08 else "BUFFER"
    reads |= {name: f"{place}({name})" for word, name in call.arguments if word in _BUFFERS}
    return re.sub(r"\b\w+\b", lambda match: reads.get(match[0], match[0]), call.counted)


_LAYER = Path(__file__).parent / "layer"
_PROBE = Path(__file__).parent / "probe"
_APPS = Path(__file__).parents[1]
_COMMON, _REAL_MPI = _APPS / "common", _APPS / "kernels" / "realmpi"
_SOLO = Path(__file__).with_name("solo.h")
_SIMGRID = re.compile(rb"^\s*#\s*include\s*[<\"](?:smpi|simgrid|xbt)/", re.MULTILINE)
_C_FLAGS = ("-std=gnu11", "-pthread")
_LAYER_FLAGS = ("-O1", "-std=gnu11", "-shared", "-fPIC", f"-I{_LAYER}")


def kernel_executable(machine: Machine, kernel: Kernel, *, solo: bool = False) -> Path:
    """Return a kernel compiled by the machine's C compiler.

    Args:
        machine: The machine.
        kernel: The kernel.
        solo: Every rank runs the kernel alone, as its only rank (solo.h).
    """
    include = _REAL_MPI / "include"
    return compile_once(
        f"solo-{kernel.name}" if solo else kernel.name,
        [*kernel.sources, *sorted(_REAL_MPI.glob("*.c"))],
        compiler=[machine.compilers.c],
        flags=[*machine.compilers.flags, *_C_FLAGS, f"-I{include}", *(["-include", str(_SOLO)] if solo else [])],
        libraries=["-lm", "-ldl"],
        headers=[*kernel.headers, *_headers_for_real_mpi(), *([_SOLO] if solo else [])],
        folder=machine.compiled_folder,
    )


def program_command(machine: Machine, program: UserProgram) -> tuple[str, ...]:
    """Return the command that starts the user's program on the machine, without its arguments.

    They are the binary itself, the source compiled by the machine's compiler, or a script after its interpreter. A C
    source that includes SimGrid's headers gets the same SimGrid functions as the kernels on a machine.

    Raises:
        KernelError: The machine has no compiler for it, or the program is not one for a real MPI library.
        UserError: It cannot be compiled.
    """
    included = check_unchanged(program)
    if not program.is_source:
        if program.simulated:
            remedy = "Build it with the machine's own compiler, or give the source"
            raise KernelError(f"--program {program.path}", "it was not built for a real MPI library", remedy)
        return (*script_interpreter(program), str(program.path))
    compiler = compiler_of(machine, program)
    flags, libraries = split_flags(program.flags)
    more, include, headers = [], [], []
    if _calls_simgrid(program):
        more, headers = sorted(_REAL_MPI.glob("*.c")), _headers_for_real_mpi()
        include, libraries = [f"-I{_REAL_MPI / 'include'}"], [*libraries, "-ldl"]
    compiled = compile_once(
        program.name, [program.path, *more], compiler=[compiler], flags=[*machine.compilers.flags, *flags, *include],
        libraries=["-lm", *libraries], headers=headers, included=included, folder=machine.compiled_folder,
        watch=watch(included),
    )  # fmt: skip
    return (str(compiled),)


def _calls_simgrid(program: UserProgram) -> bool:
    """Return whether a C program includes SimGrid's headers and so needs the SimGrid functions for machines."""
    return program.path.suffix == ".c" and _SIMGRID.search(program.path.read_bytes()) is not None


def script_interpreter(program: UserProgram) -> tuple[str, ...]:
    """Return the interpreter of a script with mpi4py; nothing for other programs."""
    if program.native is None or program.native.interpreter is None:
        return ()
    return (str(program.native.interpreter),)


def layer_library(machine: Machine) -> Path:
    """Return the layer that measures ranks (apps/measuring/layer), compiled for the machine's MPI library."""
    text = _wrappers()
    folder = machine.compiled_folder or cache_folder() / "compiled"
    source = folder / f"wrappers-{hashlib.sha256(text).hexdigest()[:24]}.c"
    if not source.is_file() or source.read_bytes() != text:
        write_atomically(source, text)
    return compile_once(
        "layer",
        [*_layer_sources(), source],
        compiler=[machine.compilers.c],
        flags=_LAYER_FLAGS,
        libraries=["-ldl"],
        headers=_layer_headers(),
        folder=machine.compiled_folder,
    )


def probe_program(machine: Machine) -> Path:
    """Return the program that reports the hosts of its ranks (apps/measuring/probe), compiled for the machine."""
    return compile_once(
        "probe",
        [_PROBE / "probe.c", _COMMON / "json.c"],
        compiler=[machine.compilers.c],
        flags=["-O2", "-std=gnu11"],
        headers=[_COMMON / "json.h"],
        folder=machine.compiled_folder,
    )


def code_hash(machine: Machine, problem: Problem) -> str:
    """Return the identity of everything a run executes: the program, the layer, the compiler and the launcher.

    A new version of MPI comes with a new launcher, and so with a new identity.

    Raises:
        UserError: A compiler or the launcher is missing.
    """
    program = problem.program
    if program is None:
        code, compiler = f"{kernel_hash(named_kernel(problem.name))} {_real_mpi_hash()}", machine.compilers.c
    else:
        code = f"{program.content_hash} {_real_mpi_hash()}" if _calls_simgrid(program) else program.content_hash
        compiler = compiler_of(machine, program) if program.is_source else machine.compilers.c
    tools = [*compiler_stamps(find_compiler(compiler)), *compiler_stamps(find_launcher(machine))]
    return hashlib.sha256(repr((code, _layer_hash(), tools)).encode()).hexdigest()


def compiler_of(machine: Machine, program: UserProgram) -> str:
    """Return the machine's compiler for the language of a program; raise KernelError if it has none."""
    suffix, compilers = program.path.suffix, machine.compilers
    language, compiler = (
        ("C", compilers.c)
        if suffix == ".c"
        else ("Fortran", compilers.fortran)
        if suffix[1:2] in "fF"
        else ("C++", compilers.cxx)
    )
    if compiler is None:
        key = {"C++": "cxx", "Fortran": "fortran"}[language]
        raise KernelError(
            f"--program {program.path}", f"machine {machine.name} has no compiler for {language}",
            f"Give {key} in [compilers] of {machine.path}",
        )  # fmt: skip
    return compiler


def _layer_sources() -> list[Path]:
    return [*sorted(_LAYER.glob("*.c")), _COMMON / "json.c"]


def _layer_headers() -> list[Path]:
    return [*sorted(_LAYER.glob("*.h")), _COMMON / "checked.h", _COMMON / "json.h"]


def _headers_for_real_mpi() -> list[Path]:
    return sorted((_REAL_MPI / "include").rglob("*.h"))


@cache
def _wrappers() -> bytes:
    return wrappers(mpi_calls()).encode()


@cache
def _layer_hash() -> str:
    digest = _hash([*_layer_sources(), *_layer_headers()])
    return hashlib.sha256(digest.encode() + _wrappers()).hexdigest()


@cache
def _real_mpi_hash() -> str:
    return _hash([*sorted(_REAL_MPI.glob("*.c")), *_headers_for_real_mpi()])


def _hash(files: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in files:
        digest.update(b"\0" + path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
