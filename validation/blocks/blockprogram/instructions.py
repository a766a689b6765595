"""Instructions of all ranks, and the file of them that ``blockprogram.cpp`` reads."""

from __future__ import annotations

import hashlib
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

from apps.programs.own_program import read_program
from apps.programs.problem import Problem, own_problem
from platforms.files.caching import cache_folder, write_atomically
from platforms.simgrid.compiling import compile_once

SOURCE = Path(__file__).with_name("blockprogram.cpp")
MOST_BYTES = 2**31 - 1  # largest message, as MPI's counts are ints
FLAGS = ("-O2", "-std=gnu++17")
_OFFSET_DIGITS = 12


@dataclass(frozen=True)
class DiskOf:
    """A disk, which instructions refer to by its number."""

    host: str
    name: str
    read_latency_s: float
    write_latency_s: float


@dataclass(frozen=True)
class BlockProgram:
    """The instructions of every rank; blockprogram.cpp describes them."""

    name: str
    programs: tuple[str, ...]  # distinct texts of instructions
    program_of_rank: tuple[int, ...]  # index of each rank's text in `programs`
    labels: tuple[int, ...]  # number of ranks of each label, whose ranks follow each other
    groups: tuple[tuple[int, ...], ...]  # ranks of each group with collectives, in the order of their places
    disks: tuple[DiskOf, ...]
    largest_bytes: int  # size of the largest buffer

    def text(self) -> str:
        """Return the content of the file."""
        head = [f"{self.largest_bytes}", f"{len(self.disks)}"]
        head += [f"{d.host} {d.name} {d.read_latency_s:.17g} {d.write_latency_s:.17g}" for d in self.disks]
        head.append(f"{len(self.labels)} {' '.join(map(str, self.labels))}")
        head += [f"{len(self.groups)}", *(f"{len(group)} {' '.join(map(str, group))}" for group in self.groups)]
        head.append(f"{len(self.program_of_rank)}")
        first = sum(len(line) + 1 for line in head) + len(self.program_of_rank) * (_OFFSET_DIGITS + 1)
        offsets = []
        for program in self.programs:
            offsets.append(first)
            first += len(program) + 1
        rows = [f"{offsets[number]:0{_OFFSET_DIGITS}d}" for number in self.program_of_rank]
        return "\n".join((*head, *rows, *self.programs)) + "\n"


def block_problem(program: BlockProgram) -> Problem:
    """Return the program as a problem for the engine; its file is cached under the hash of its content."""
    content = program.text().encode("ascii")
    digest = hashlib.sha256(content).hexdigest()
    path = cache_folder() / "blockprograms" / f"{digest[:24]}.txt"
    if not path.is_file() or path.read_bytes() != content:
        write_atomically(path, content)
    program_path = compile_once("blockprogram", [SOURCE], compiler=["smpicxx"], flags=FLAGS)
    made = read_program(program_path, shlex.quote(str(path)))
    content_hash = hashlib.sha256(f"{' '.join(FLAGS)} {SOURCE.read_text()} {digest}".encode()).hexdigest()
    return own_problem(replace(made, name=program.name, content_hash=content_hash))
