"""The memory bus as a library that kernels load, and the arguments that tell them of it."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from platforms.compiling import compile_once

if TYPE_CHECKING:
    from apps.spec import RunSpec

_SOURCE = Path(__file__).with_name("bus.cpp")
_FLAGS = ("-O2", "-std=gnu++17", "-shared", "-fPIC")


def bus_library() -> Path:
    """Compiled on first use and kept in the cache folder."""
    return compile_once("memory-bus", [_SOURCE], compiler=["g++"], flags=_FLAGS, libraries=["-lsimgrid"])


@cache
def bus_hash() -> str:
    """Identity of the library: its source and how it is compiled."""
    return hashlib.sha256(" ".join(_FLAGS).encode() + b"\0" + _SOURCE.read_bytes()).hexdigest()


def bus_arguments(spec: RunSpec) -> tuple[str, ...]:
    """For a kernel (apps/common/memory.h); none without a memory bus."""
    if spec.memory_bus is None:
        return ()
    bandwidth = spec.memory_bus if isinstance(spec.memory_bus, str) else f"{spec.memory_bus:.17g}"
    return (
        f"memory_library={bus_library()}",
        f"memory_bandwidth={bandwidth}",
        f"bytes_per_flop={spec.moved_bytes_per_flop:.17g}",
    )
