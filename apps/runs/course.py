"""Cautions about a program whose course depends on the time: a recording has that of the neutral platform."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from apps.errors import SimulationError
from apps.recording.events import Recording
from apps.results.inputs import Inputs
from apps.runs.neutral import neutral_platform
from apps.smpi.engine import note_fingerprints
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.files.scratch import scratch_folder

_PROBE = "MPI_Probe"


def course_cautions(
    plain: RunSpec, recording: Recording, inputs: Inputs | None, *, time_limit_s: float | None
) -> tuple[str, ...]:
    """Return what a reader of predictions from a recording of all iterations of a user's program must know.

    A program that looks for messages, or reads the simulated clock more than twice, runs once more, on a slower
    network: what it sends there must be the same.

    Args:
        plain: The run that was recorded, on the neutral platform.
        recording: The recording.
        inputs: What that run has noted; None: nothing.
        time_limit_s: Wall time that the other run may take; None: any.
    """
    if inputs is None or plain.engine != "smpi" or plain.target.problem.program is None:
        return ()
    said = poll_cautions(inputs)
    difference = _difference(plain, recording, time_limit_s) if inputs.polls or inputs.clocks else None
    if difference is None:
        return said
    asked = (*inputs.clocks, *inputs.polls)[0]
    depends = f"the program's course depends on the time, for which it asks by {asked}"
    return (*said, f"{depends}: on two networks it has {difference}")


def poll_cautions(inputs: Inputs | None) -> tuple[str, ...]:
    """Return the cautions about a program that looks for messages."""
    return () if inputs is None else tuple(_of_polls(inputs))


def _of_polls(inputs: Inputs) -> Iterator[str]:
    polls = [name for name in inputs.polls if name != _PROBE]
    if polls:
        yield (
            f"the program looks for messages by {polls[0]}: the time of looking (0.1 ms each in SimGrid) is not "
            "predicted, and what it does meanwhile is that of the recording"
        )
    if _PROBE in inputs.polls:
        yield f"the time that SimGrid takes to look for messages in {_PROBE} (smpi/iprobe) is not predicted"


def _difference(plain: RunSpec, recording: Recording, time_limit_s: float | None) -> str | None:
    """Return in what the program's course differs on a slower network, in words; None: in nothing."""
    # Imported here for a quick start: they are slow to import.
    from apps.recording.files import Incomplete, read_moments
    from apps.recording.totals import totals_of_moments, totals_of_recording

    target, iterations = plain.target, plain.target.iterations
    platform = neutral_platform(target.nranks, slow=True)
    hosts = tuple(host.name for host in platform.hosts)
    slower = replace(plain, target=Target(target.problem, platform, hosts))
    what = f"{target.problem.on(target.nranks)} on a slower network"
    with scratch_folder("course") as notes:
        note_fingerprints(slower, iterations, notes, calls=False, what=what, time_limit_s=time_limit_s)
        try:
            moments = read_moments(notes, target.nranks)
        except Incomplete as err:
            raise SimulationError(f"{what}: {err}") from err
    whole = iterations if target.problem.iterative else 0
    return totals_of_recording(recording, whole).difference(totals_of_moments(moments))
