"""The calls in DUMPI's text, as dumpi2ascii writes it: one file for each rank, in the order of the calls.

A call is a line with its name and the time at which it is entered, one line for each argument, and a line with the time
of its return; SST's DUMPI documents them ("Building and using the DUMPI library", a simple example).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from apps.errors import TraceError
from platforms.errors import UserError

_EDGE = re.compile(
    r"(MPIO?_\w+) (entering|returning) at walltime (\d{1,18})\.(\d{9}), cputime \S+ seconds in thread (\d+)\."
)
_ARGUMENT = re.compile(r"[A-Za-z]\w* (\w+)((?:\[-?\d+\])*)=(.*)")
_IGNORED = re.compile(r"(MPI_\w+) called \d{1,18} times and ignored (\d{1,18}) times")
_SIZE = re.compile(r"Datatype (\d{1,18}) \(.*\) has size (-?\d{1,18})")
_STATUS = re.compile(r"\{bytes=-?\d+, cancelled=-?\d+, source=(-?\d{1,18}), tag=(-?\d{1,18}), error=-?\d+\}")
_MOST_LINE_BYTES = 1 << 24
_MOST_NUMBER = 1 << 31  # DUMPI has numbers of 32 bits
_CONTINUED = ("[", "]", ",", "Perfcounters:")  # lines of arrays of arrays, and of counters


@dataclass(frozen=True)
class Status:
    """The status that a call has returned for a message."""

    source: int
    tag: int


@dataclass
class Call:
    """One call, with its arguments as text."""

    name: str
    entered_s: float
    broken: Callable[[str], UserError]  # makes the error for a fault in it
    returned_s: float = 0.0
    texts: dict[str, str] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """Return an argument that is a number or a handle."""
        numbers = self._numbers(name, self._text(name).partition(" (")[0].strip("[]"))
        if len(numbers) != 1:
            raise self.broken(f"{name} of {self.name} is no number")
        return numbers[0]

    def numbers(self, name: str) -> list[int]:
        """Return an argument that is an array; an empty one if it was not recorded."""
        text = self._text(name)
        return [] if text == "<IGNORED>" else self._numbers(name, text.strip("[]"))

    def statuses(self, name: str) -> list[Status]:
        """Return the statuses of the call; none if they were not recorded."""
        found_statuses = _STATUS.findall(self.texts.get(name, ""))
        return [Status(int(source), int(tag)) for source, tag in found_statuses]

    def _text(self, name: str) -> str:
        if name not in self.texts:
            raise self.broken(f"{self.name} has no {name}")
        return self.texts[name]

    def _numbers(self, name: str, text: str) -> list[int]:
        try:
            numbers = [int(part) for part in text.split(",") if part.strip()]
        except ValueError:
            raise self.broken(f"{name} of {self.name} is no number") from None
        if any(abs(value) >= _MOST_NUMBER for value in numbers):
            raise self.broken(f"{name} of {self.name} is too large")
        return numbers


@dataclass
class Extras:
    """The facts in a file that stand behind its calls."""

    ignored: dict[str, int] = field(default_factory=dict)  # calls that were made but not recorded, by name
    size_bytes: dict[int, int] = field(default_factory=dict)  # of datatypes


def extras_of(path: Path) -> Extras:
    """Return the contents of a file other than its calls.

    Raises:
        TraceError: The file cannot be read, or is no text.
    """
    extras = Extras()
    for _, line in _lines(path):
        if line.endswith(" times") and (ignored := _IGNORED.fullmatch(line)) is not None and int(ignored[2]):
            extras.ignored[ignored[1]] = int(ignored[2])
        elif line.startswith("Datatype ") and (size := _SIZE.fullmatch(line)) is not None:
            extras.size_bytes[int(size[1])] = int(size[2])
    return extras


def calls_in(path: Path) -> Iterator[Call]:
    """Yield the calls in a file.

    Raises:
        TraceError: The file cannot be read, or is no such text.
    """
    call: Call | None = None
    for number, line in _lines(path):

        def broken(problem: str, number: int = number) -> UserError:
            return TraceError(f"{path}:{number}", problem, "Write it again with dumpi2ascii -a")

        edge = _EDGE.match(line)
        if edge is None:
            if call is not None:
                _argument(call, line, broken)
            continue
        name, which, seconds, nanoseconds, thread = edge.groups()
        at_s = int(seconds) + int(nanoseconds) * 1e-9
        if thread != "0":
            raise broken(f"{name} is called in thread {thread}, and a recording has one thread per rank")
        if which == "entering":
            if call is not None:
                raise broken(f"{name} is entered within {call.name}")
            call = Call(name, at_s, broken)
        elif call is None or call.name != name:
            raise broken(f"{name} returns, but was not entered")
        else:
            call.returned_s = at_s
            yield call
            call = None
    if call is not None:
        raise TraceError(str(path), f"it ends within {call.name}", "Write it again with dumpi2ascii -a")


def _argument(call: Call, line: str, broken: Callable[[str], UserError]) -> None:
    match = _ARGUMENT.fullmatch(line)
    if match is not None:
        call.texts[match[1]] = match[3].strip()
    elif line.strip() and not line.startswith(_CONTINUED):
        raise broken(f"neither an argument nor the return of {call.name}")


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            number = 0
            while line := file.readline(_MOST_LINE_BYTES):
                number += 1
                if len(line) == _MOST_LINE_BYTES or "\0" in line:
                    raise TraceError(f"{path}:{number}", "it is no text of dumpi2ascii", "Run dumpi2ascii on it")
                yield number, line.rstrip("\n")
    except OSError as err:
        raise TraceError(str(path), f"cannot be read: {err.strerror}", "Make it readable") from err


# Sizes on 64-bit Linux, for files without their table of sizes; by number of the predefined type (common/constants.h).
PREDEFINED: Mapping[int, int] = dict(
    zip(range(2, 28), (1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20), strict=True)
)
