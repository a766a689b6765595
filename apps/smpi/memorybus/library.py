"""The memory bus as a library that kernels load, and the kernel arguments that select it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from apps.errors import check_still
from platforms.simgrid.compiling import compile_once

_SOURCE = Path(__file__).with_name("bus.cpp")
_FLAGS = ("-O2", "-std=gnu++17", "-shared", "-fPIC")


def bus_library() -> Path:
    """Return the library, which is compiled on first use and kept in the cache folder."""
    library = compile_once("memory-bus", [_SOURCE], compiler=["g++"], flags=_FLAGS, libraries=["-lsimgrid"])
    check_still("the memory bus", bus_hash(), _hash_now())
    return library


@cache
def bus_hash() -> str:
    """Return a hash of the library's source and compiler flags at the time of the first call."""
    return _hash_now()


def _hash_now() -> str:
    return hashlib.sha256(" ".join(_FLAGS).encode() + b"\0" + _SOURCE.read_bytes()).hexdigest()
