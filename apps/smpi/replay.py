"""Replays of measured computation: the recorder's settings for a run that takes its computation times from another."""

from __future__ import annotations

from pathlib import Path

from apps.errors import Departed
from apps.spec.choices import REPLAY
from apps.spec.run_spec import RunSpec


def timer_settings(spec: RunSpec, iterations: int) -> dict[str, str]:
    """Return the recorder's settings for the program's own timer; none if it is not used, or is replayed."""
    program = spec.target.problem.program
    if program is None or program.timer is None or spec.engine == REPLAY:
        return {}
    return program.timer.settings(iterations)


def replay_settings(spec: RunSpec, iterations: int, folder: Path) -> dict[str, str]:
    """Return the recorder's settings, and write the files they name to the run's folder; none if nothing is replayed.

    Raises:
        Departed: The computation of this number of iterations cannot be derived from the timings.
    """
    if spec.compute != "measured" or spec.work is None:
        return {}
    # Imported here because it is slow to import.
    from apps.recording.work import Irregular, write_steps

    assert spec.host_speed_flops is not None  # checked with measured computation
    try:
        steps = spec.work.of(iterations)
    except Irregular:
        what = f"{iterations} iterations of {spec.target}"
        raise Departed(f"{what}: their computation cannot be derived from that of all iterations") from None
    place = folder / "steps"
    place.mkdir()
    write_steps(place, steps)
    return {"RECORDER_WORK": str(place), "RECORDER_SPEED_FLOPS": f"{spec.host_speed_flops:.17g}"}
