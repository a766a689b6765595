"""A recording that the user gives instead of a program: a trace of a run on a machine of his own."""

from __future__ import annotations

import argparse
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from apps.errors import OptionError
from apps.programs.own_program import UserProgram
from apps.programs.problem import Problem, own_problem
from platforms.wording import number_of

if TYPE_CHECKING:
    from apps.recording.events import Recording


@dataclass(frozen=True, eq=False)
class Given:
    """A recording from the user, and the problem that stands for the program it was made of."""

    path: Path
    problem: Problem
    recording: Recording

    @property
    def identity(self) -> str:
        """Hash of what was recorded."""
        program = self.problem.program
        assert program is not None  # given_recording has made it
        return program.content_hash


def add_recording_arguments(parser: argparse._ActionsContainer) -> None:
    """Add the options --recording and --recorded-gflops, which given_from_arguments reads."""
    parser.add_argument(
        "--recording", metavar="TRACE",
        help="instead of a program the trace of a run on a machine of your own: the .otf2 file of an archive, as "
        "Score-P writes it, or DUMPI's text of rank 0 (docs/programs/traces.md)",
    )  # fmt: skip
    parser.add_argument(
        "--recorded-gflops", metavar="G",
        help="speed of the cores that the trace was recorded on, on the scale of the platform's hosts; one number, or "
        "one for each rank, separated by commas",
    )  # fmt: skip


def given_from_arguments(args: argparse.Namespace) -> Given | None:
    """Return the recording that --recording asks for; None without the option.

    Raises:
        TraceError: The trace cannot be read.
        OptionError: An option does not go with a recording, or the speed is missing or wrong.
    """
    if args.recording is None:
        if args.recorded_gflops is not None:
            where = f"--recorded-gflops {args.recorded_gflops}"
            raise OptionError(where, "there is no recording", "Give --recording TRACE too")
        return None
    for option, default in _NOT_BESIDE.items():
        value = getattr(args, option, default)
        if value not in (default, None):
            shown = value[0] if isinstance(value, list) else value
            name = {"preset": "class"}.get(option, option).replace("_", "-")
            raise OptionError(f"--{name} {shown}", "does not go with --recording", "Drop one")
    given = given_recording(args.recording, args.recorded_gflops)
    nranks = given.recording.nranks
    if getattr(args, "ranks", None) not in (None, nranks):
        problem = f"the recording is of {number_of(nranks, 'rank')}"
        raise OptionError(f"--ranks {args.ranks}", problem, "Leave it out, or record a run of so many ranks")
    return given


# Options that describe a program to run, or how to run it, with their defaults.
_NOT_BESIDE: dict[str, object] = {
    "app": None, "preset": None, "size": None, "param": [], "program": None, "program_args": None,
    "program_iterations": None, "efficiency": "reference", "compute": "injected", "host_speed": None,
    "iterations": None, "engine": None, "memory_bus": None, "bytes_per_flop": None,
}  # fmt: skip


def given_recording(path: str | Path, gflops: str | None) -> Given:
    """Return a trace as a recording, with the problem that stands for its program.

    Args:
        path: As apps.traces.read.recording_of.
        gflops: As apps.traces.read.recording_of.

    Raises:
        TraceError: The trace cannot be read.
        OptionError: The speed is missing or wrong.
    """
    # Imported here for a quick start: it is slow to import.
    from apps.traces.read import recording_of

    path = Path(path)
    recording = recording_of(path, gflops)
    program = UserProgram(
        name=re.sub(r"[-_.]?0+$", "", path.stem) or path.stem,  # DUMPI's text of rank 0 is dumpi-0000.txt
        content_hash=_content_hash(recording),
        arguments=(),
        iterations=None,
        path=path.absolute(),
        recorded=True,
    )
    return Given(path, own_problem(program), recording)


def _content_hash(recording: Recording) -> str:
    found = hashlib.sha256(repr(recording.communicators).encode())
    for rows in (*recording.events, *recording.counts):
        found.update(len(rows).to_bytes(8, "little"))
        found.update(rows.tobytes())
    return found.hexdigest()
