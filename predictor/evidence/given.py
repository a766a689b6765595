"""A recording that the user gives instead of a program: a trace of a run on the user's machine."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from apps.errors import OptionError
from apps.programs.own_program import UserProgram
from apps.programs.problem import Problem, own_problem
from platforms.addons import provided
from platforms.command.request import Request, fields_of, option
from platforms.wording import number_of

if TYPE_CHECKING:
    from apps.recording.events import Recording

# Why commands that simulate the program have no option for a trace (Request.absent).
NOT_SIMULATED = {"--recording": "a trace cannot be simulated. Give --program, or ask gridval predict --recording"}
# Options that describe a program to run, or how to run it.
_NOT_BESIDE = (
    *("app", "problem_class", "size", "param", "program", "program_args", "program_iterations", "efficiency"),
    *("compute", "host_speed", "iterations", "engine", "memory_bus", "bytes_per_flop"),
)


@dataclass(frozen=True, eq=False)
class Given:
    """A recording from the user, or several, and the problem that stands for the program they were made of."""

    path: Path
    problem: Problem
    recording: Recording
    others: tuple[Recording, ...] = ()  # on other numbers of ranks

    @property
    def counts(self) -> tuple[int, ...]:
        """Numbers of ranks, ascending."""
        return tuple(sorted(recording.nranks for recording in (self.recording, *self.others)))

    def on(self, nranks: int) -> Recording | None:
        """Return the recording on a number of ranks, if there is one."""
        return next((one for one in (self.recording, *self.others) if one.nranks == nranks), None)

    @property
    def identity(self) -> str:
        """Hash of what was recorded."""
        program = self.problem.program
        assert program is not None  # given_recording has made it
        return program.content_hash


@dataclass(frozen=True, kw_only=True)
class RecordingOptions(Request):
    """A recording in place of a program."""

    recording: str | None = option(
        None,
        "TRACE",
        "instead of a program the trace of a run on a machine of your own: the .otf2 file of an archive, as Score-P "
        "writes it, or DUMPI's text of rank 0; for predictors named learned, several on different numbers of ranks, "
        "separated by commas (docs/programs/traces.md)",
    )
    recorded_gflops: str | None = option(
        None,
        "G",
        "speed of the cores that the trace was recorded on, on the scale of the platform's hosts; one number, or one "
        "for each rank, separated by commas",
    )


def given_from_request(request: RecordingOptions, *, several: bool = False) -> Given | None:
    """Return the recording that --recording asks for, or with ``several`` the recordings; None without the option.

    Raises:
        TraceError: The trace cannot be read.
        OptionError: An option does not go with a recording, or the speed is missing or wrong.
    """
    if request.recording is None:
        if request.recorded_gflops is not None:
            where = f"--recorded-gflops {request.recorded_gflops}"
            raise OptionError(where, "there is no recording", "Give --recording TRACE too")
        return None
    for field in fields_of(type(request)):
        value = getattr(request, field.key)
        if field.key in _NOT_BESIDE and value != field.default:
            shown = value[0] if isinstance(value, tuple) else value
            raise OptionError(f"{field.option} {shown}", "does not go with --recording", "Drop one")
    if several and "," in request.recording:
        return given_recordings(request.recording.split(","), request.recorded_gflops)
    given = given_recording(request.recording, request.recorded_gflops)
    nranks = given.recording.nranks
    asked = getattr(request, "ranks", None)
    if asked not in (None, nranks):
        problem = f"the recording is of {number_of(nranks, 'rank')}"
        raise OptionError(f"--ranks {asked}", problem, "Leave it out, or record a run of this number of ranks")
    return given


def given_recording(path: str | Path, gflops: str | None) -> Given:
    """Return a trace as a recording, with the problem that stands for its program.

    Args:
        path: As apps.traces.read.recording_of.
        gflops: As apps.traces.read.recording_of.

    Raises:
        TraceError: The trace cannot be read.
        OptionError: The speed is missing or wrong.
    """
    path = Path(path)
    recording: Recording = provided("apps.traces.read:recording_of")(path, gflops)
    program = UserProgram(
        name=re.sub(r"[-_.]?0+$", "", path.stem) or path.stem,  # DUMPI's text of rank 0 is dumpi-0000.txt
        content_hash=_content_hash(recording),
        arguments=(),
        iterations=None,
        path=path.absolute(),
        recorded=True,
    )
    return Given(path, own_problem(program), recording)


def given_recordings(paths: Sequence[str], gflops: str | None) -> Given:
    """Return traces of one program on different numbers of ranks.

    Raises:
        TraceError: As ``given_recording``; so are the other errors.
        OptionError: Two are on the same number of ranks.
    """
    each = [given_recording(path.strip(), gflops) for path in paths]
    first, *others = each
    if len({given.recording.nranks for given in each}) < len(each):
        problem = f"they are on {', '.join(str(given.recording.nranks) for given in each)} ranks"
        raise OptionError(f"--recording {','.join(paths)}", problem, "Name one for each number of ranks")
    digest = hashlib.sha256(" ".join(given.identity for given in each).encode()).hexdigest()
    assert first.problem.program is not None  # given_recording has made it
    program = replace(first.problem.program, content_hash=digest)
    return Given(first.path, own_problem(program), first.recording, tuple(given.recording for given in others))


def _content_hash(recording: Recording) -> str:
    digest = hashlib.sha256(repr(recording.communicators).encode())
    for rows in (*recording.events, *recording.counts):
        digest.update(len(rows).to_bytes(8, "little"))
        digest.update(rows.tobytes())
    return digest.hexdigest()
