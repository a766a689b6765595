"""Programs whose course depends on the time: a recording shows it for one network only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from apps.errors import SimulationError
from apps.recording.events import Kind, Mode, Recording
from apps.recording.files import Incomplete, read_events, read_moments, without_clocks
from apps.recording.iterations import without_marks
from apps.recording.totals import computing_apart, totals_of_moments, totals_of_recording
from apps.results.inputs import Inputs
from apps.runs.neutral import neutral_platform
from apps.smpi.engine import Surroundings, note_fingerprints, note_looks
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.files.scratch import scratch_folder

_UNSEEN = ("MPI_Request_get_status",)  # polls that are not recorded


def looks(inputs: Inputs | None) -> bool:
    """Return whether a program polls for messages."""
    return inputs is not None and bool(inputs.polls)


def on_its_course(
    plain: RunSpec, recording: Recording, inputs: Inputs | None, *, time_limit_s: float | None
) -> Recording:
    """Return the recording of all iterations of a user's program, with its cautions.

    A program that polls for messages, or reads the simulated clock more than twice (or at all, if not all of its
    iterations were compared in changed surroundings), runs once more on a slower network, and on slower hosts if it
    does not poll: it must send and compute the same there.  If it polls, that run is recorded with all polls, because
    few polls fail on a fast network.

    Args:
        plain: The recorded run on the neutral platform.
        recording: The recording.
        inputs: The inputs logged in that run; None: nothing.
        time_limit_s: Limit of the wall time of the other run; None: none.
    """
    if inputs is None or plain.engine != "smpi" or plain.target.problem.program is None:
        return recording
    of_surroundings = tuple(_of_surroundings(inputs))
    if not inputs.polls and not inputs.clocks and (inputs.compared_whole or not inputs.reads):
        return replace(recording, cautions=of_surroundings) if of_surroundings else recording
    slower = _slower(plain, slow_hosts=not looks(inputs))
    other, difference = _on_slower(slower, recording, time_limit_s, with_looks=looks(inputs) and _is_exact(plain))
    depends: tuple[str, ...] = ()
    if difference is not None:
        asked = (*inputs.clocks, *inputs.polls, *inputs.reads)[0]
        depends = (
            f"the program's course depends on the time, which it queries with {asked}: on two platforms it has "
            f"{difference}",
        )
    seen = _is_exact(plain) and not _one_sided(other)
    return replace(other, cautions=(*_of_looks(inputs, seen=seen), *(depends or of_surroundings)))


def _of_surroundings(inputs: Inputs) -> Iterator[str]:
    for part in inputs.depends:
        yield f"the program's course depends on {part}: it behaves differently if that changes"


def _is_exact(plain: RunSpec) -> bool:
    """Return whether computation takes the same time in every run."""
    return plain.compute != "measured" or plain.work is not None


def _one_sided(recording: Recording) -> bool:
    """Return whether a recording has one-sided calls, whose requests polls do not show."""
    return any(bool((events["mode"][events["kind"] <= Kind.RECV] >= Mode.PUT).any()) for events in recording.events)


def _of_looks(inputs: Inputs, *, seen: bool) -> Iterator[str]:
    polls = [name for name in inputs.polls if not seen or name in _UNSEEN]
    if polls:
        yield (
            f"the program polls for messages with {polls[0]}: the time of polling (0.1 ms each in SimGrid) is not "
            "predicted, and its actions meanwhile are those of the recording"
        )


def _slower(plain: RunSpec, *, slow_hosts: bool) -> RunSpec:
    platform = neutral_platform(plain.target.nranks, slow=True, slow_hosts=slow_hosts)
    return replace(plain, target=Target(plain.target.problem, platform, tuple(host.name for host in platform.hosts)))


def _on_slower(
    slower: RunSpec, recording: Recording, time_limit_s: float | None, *, with_looks: bool
) -> tuple[Recording, str | None]:
    """Return the recording on the slower network if ``with_looks``, else the given one; and the difference of both.

    The difference is that of their totals or of their computation, in words; None: there is none.
    """
    target, iterations = slower.target, slower.target.iterations
    what = f"{target.problem.on(target.nranks)} on a slower network"
    other = recording
    with scratch_folder("course") as notes:
        _note(slower, notes, what=what, time_limit_s=time_limit_s, with_looks=with_looks)
        try:
            moments = read_moments(notes, target.nranks)
            if with_looks:
                other = without_marks(without_clocks(read_events(notes, target.nranks, measured=False)))
                other = replace(
                    other,
                    measured=recording.measured,
                    replayed=recording.replayed,
                    spread_rel=recording.spread_rel,
                )
        except Incomplete as err:
            raise SimulationError(f"{what}: {err}") from err
    whole = iterations if target.problem.iterative else 0
    difference = totals_of_recording(recording, whole).difference(totals_of_moments(moments))
    if difference is None and _is_exact(slower):
        difference = computing_apart(recording, moments, target.platform.host(target.placement[0]).speed_flops)
    return other, difference


def _note(slower: RunSpec, notes: Path, *, what: str, time_limit_s: float | None, with_looks: bool) -> None:
    iterations = slower.target.iterations
    if with_looks:
        note_looks(slower, iterations, notes, what=what, time_limit_s=time_limit_s)
    else:
        note_fingerprints(
            slower, iterations, notes, calls=False, what=what, time_limit_s=time_limit_s,
            surroundings=Surroundings(("clock",)),
        )  # fmt: skip
