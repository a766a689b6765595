"""Compilation of a kernel's C sources to a program that SMPI can run."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from apps.errors import check_still
from apps.programs.kernel import Kernel
from platforms.simgrid.compiling import compile_once

FLAGS = ("-O2", "-g", "-std=gnu11", "-pthread")  # -g: the lines of call sites


def kernel_program(kernel: Kernel) -> Path:
    """Return the compiled kernel, which is built on first use and kept in the cache folder.

    Raises:
        KernelError: Its sources are no longer those of ``kernel_hash``.
        UserError: As compile_once.
    """
    program = compile_once(
        kernel.name, kernel.sources, compiler=["smpicc"], flags=FLAGS, libraries=["-lm", "-ldl"], headers=kernel.headers
    )
    check_still(f"kernel {kernel.name}", kernel_hash(kernel), _hash_now(kernel))
    return program


@cache
def kernel_hash(kernel: Kernel) -> str:
    """Return a hash of a kernel's sources and compiler flags, as they are at the first call."""
    return _hash_now(kernel)


def _hash_now(kernel: Kernel) -> str:
    digest = hashlib.sha256(" ".join(FLAGS).encode())
    for path in (*kernel.sources, *kernel.headers, *kernel.reference_sources):
        digest.update(b"\0" + path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
