"""Run STREAM's triad on one to all cores of this computer."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from platforms.errors import UserError
from platforms.simgrid.compiling import compile_once
from platforms.terminal.progress import doing

# As in triad.h.
BYTES_PER_ELEMENT = 24  # two doubles are read and one is written; the line that the write fetches does not count
_SOURCE = Path(__file__).with_name("triad.c")
_FLAGS = ("-O3", "-std=gnu11", "-Wall", "-Wextra", "-Werror")
REPEATS = 10
TIMES_CACHES = 4  # STREAM's rule: each array is at least this many times the size of all last-level caches
LEAST_ELEMENTS = 10_000_000
LARGEST_SHARE = 4  # of the available memory a quarter may be used
_PATIENCE_S = 600.0


@dataclass(frozen=True)
class Triad:
    """Triads of some processes at the same time."""

    processes: int
    elements: int  # of each array of a process
    times_s: tuple[float, ...]  # of each repeat, from the first begin to the last end

    @property
    def bandwidth_Bps(self) -> float:
        """Bytes per second of all processes together, in the quickest repeat, as STREAM counts them."""
        return BYTES_PER_ELEMENT * self.elements * self.processes / min(self.times_s)


@dataclass(frozen=True)
class NodeMemory:
    """Triads of one to all cores of a node."""

    host: str
    cache_bytes: int  # of all last caches; 0: the system does not say
    triads: tuple[Triad, ...]

    @property
    def bandwidth_Bps(self) -> float:
        """Bytes per second with all cores."""
        return self.triads[-1].bandwidth_Bps

    @property
    def array_bytes(self) -> int:
        """Bytes of an array of all processes together."""
        return 8 * self.triads[-1].elements * self.triads[-1].processes

    @property
    def caution(self) -> str:
        """Reason for a bandwidth that may be too high; empty: none."""
        if self.cache_bytes == 0:
            return "the system does not say how large its caches are: it may be their bandwidth"
        if self.array_bytes < TIMES_CACHES * self.cache_bytes - 8 * self.triads[-1].processes:
            return "less than 4 times the caches, which the free memory does not allow: it may be too high"
        return ""


def counts(cores: int) -> list[int]:
    """Return the numbers of processes to measure: powers of two, and all cores.

    >>> counts(6)
    [1, 2, 4, 6]
    """
    return [*(1 << place for place in range(cores.bit_length()) if 1 << place < cores), cores]


def sizes(folder: Path | None = None, available: int | None = None) -> tuple[int, int]:
    """Return the bytes of all last-level caches together, and the elements of an array of all processes together.

    Args:
        folder: In place of the system's folder of processors; 0 bytes: it does not say.
        available: In place of the free memory, bytes.

    Raises:
        UserError: The memory that is free does not hold arrays of the least size.
    """
    words = [] if folder is None or available is None else [str(folder), str(available)]
    done = subprocess.run([_program(), "sizes", *words], capture_output=True, text=True, check=True)
    caches, elements = map(int, done.stdout.split())
    check_memory("this computer", elements)
    return caches, elements


def check_memory(where: str, elements: float) -> None:
    """Raise UserError if there is no room for the arrays: ``elements`` is 0."""
    if not elements:
        needed = LEAST_ELEMENTS * BYTES_PER_ELEMENT * LARGEST_SHARE / 1e9
        raise UserError(where, f"less than {needed:.2g} GB of memory are free", "End other programs")


def _program() -> Path:
    return compile_once(
        "triad", [_SOURCE], compiler=["gcc"], flags=_FLAGS, libraries=["-lpthread"], headers=[_SOURCE.with_suffix(".h")]
    )


def triads(processes: Sequence[int], elements: int, *, repeats: int = REPEATS) -> list[Triad]:
    """Return the measured triads of each number of processes.

    Args:
        processes: Numbers of processes.
        elements: Of an array of all processes together.
        repeats: How often each is timed.

    Raises:
        UserError: There is no C compiler, or the program fails.
    """
    program, made = _program(), []
    for count in processes:
        each = max(elements // count, 1)
        with doing(f"triad of {count} processes"):
            try:
                done = subprocess.run(
                    [program, str(count), str(each), str(repeats)], capture_output=True, text=True, timeout=_PATIENCE_S
                )
            except subprocess.TimeoutExpired as err:
                raise UserError(
                    "program speed --memory", f"no end after {_PATIENCE_S:g} s", "Try an idle node"
                ) from err
        *times, last = done.stdout.split() or [""]
        if done.returncode != 0 or last != "ok" or len(times) != repeats:
            reason = "not enough memory" if done.returncode == 3 else f"the triad ended with status {done.returncode}"
            raise UserError("program speed --memory", reason, "Try an idle node")
        made.append(Triad(count, each, tuple(map(float, times))))
    return made


def memory_of_this_computer() -> NodeMemory:
    """Return the triads of one to all cores that this process may use.

    Raises:
        UserError: As ``triads`` and ``sizes``.
    """
    caches, elements = sizes()
    return NodeMemory(socket.gethostname(), caches, tuple(triads(counts(len(os.sched_getaffinity(0))), elements)))
