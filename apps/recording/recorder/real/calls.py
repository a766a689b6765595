"""The functions of MPI that communicate, wait or use files: the table calls.txt, from which wrappers are generated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).with_name("calls.txt")
_SECTIONS = ("calls", "persistent", "collectives", "files")
_ROW = re.compile(r"(?P<since>4 )?(?P<name>\w+)\((?P<arguments>.*)\) \|(?P<counted>.*)")
_BUFFERS = ("in", "out")
_LARGE = ("Count", "Counts", "Starts", "Unit")  # words whose type differs in the form for large counts


@dataclass(frozen=True)
class Call:
    """A function of MPI, in one of its forms."""

    name: str  # without MPI_
    arguments: tuple[tuple[str, str], ...]  # word of the type, and name
    counted: str  # a statement in the words of layer/counting.h; empty: nothing is counted
    since: int = 3  # version of MPI
    kept: bool = False  # the counted amount is stored with the request, and counted when the request is started
    file: bool = False
    extension: bool = False  # the function is MPIX_..., Open MPI 4's name for a function of MPI 4

    @property
    def buffers(self) -> bool:
        """True if an argument is a buffer of any type."""
        return any(word in _BUFFERS for word, _ in self.arguments)

    @property
    def large(self) -> bool:
        """True if the function has a form for large counts."""
        return any(word in _LARGE for word, _ in self.arguments)


def read_calls(text: str) -> list[Call]:
    """Return the functions in a table, collectives in all their forms.

    Raises:
        ValueError: A line is not a function.
    """
    calls: list[Call] = []
    section = ""
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line[1:-1] in _SECTIONS:
            section = line[1:-1]
            continue
        match = _ROW.fullmatch(line)
        if match is None or not section:
            raise ValueError(f"not a function of MPI: {line}")
        arguments = tuple(_argument(word) for word in match["arguments"].split(", "))
        call = Call(
            match["name"], arguments, match["counted"].strip(), 4 if match["since"] else 3,
            kept=section == "persistent", file=section == "files",
        )  # fmt: skip
        calls += _forms(call) if section == "collectives" else [call]
    return calls


@cache
def mpi_calls() -> tuple[Call, ...]:
    """Return the functions of the table."""
    return tuple(read_calls(_TABLE.read_text()))


def _argument(text: str) -> tuple[str, str]:
    word, _, name = text.partition(" ")
    return word, name


def _forms(call: Call) -> Iterator[Call]:
    request, info = ("Request*", "r"), ("Info", "i")
    yield call
    yield replace(call, name=f"I{call.name[0].lower()}{call.name[1:]}", arguments=(*call.arguments, request))
    persistent = replace(call, name=f"{call.name}_init", arguments=(*call.arguments, info, request), kept=True)
    yield replace(persistent, since=4)
    yield replace(persistent, extension=True)
