"""Compilation for a machine: kernels, the user's programs, and the layer that measures ranks."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

from apps.errors import KernelError
from apps.machines.launch import find_launcher
from apps.machines.machine_file import Machine
from apps.measuring.wrappers import wrappers
from apps.programs.compile import kernel_hash
from apps.programs.kernel import Kernel, named_kernel
from apps.programs.own_program import UserProgram, check_unchanged, split_flags, watch
from apps.programs.problem import Problem
from apps.recording.recorder.real.calls import mpi_calls
from platforms.files.caching import cache_folder, write_atomically
from platforms.simgrid.compiling import compile_once, compiler_stamps, find_compiler

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
