"""Read a trace in any of the known formats, and make a recording of it."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from apps.errors import OptionError, TraceError
from apps.traces.assemble import assembled
from apps.traces.dumpi import read_dumpi
from apps.traces.otf2_apart import read_apart
from platforms.wording import number_of

if TYPE_CHECKING:
    from apps.recording.events import Recording
    from apps.traces.events import Trace

OTF2 = ".otf2"
_MOST_GFLOPS = 1e6  # of one core


def read_trace(path: str | Path) -> Trace:
    """Return a trace from the anchor file of an OTF2 archive, or from DUMPI's text of rank 0.

    Raises:
        TraceError: The trace cannot be read or is no recording of a whole run, or its format needs a library that is
            missing.
    """
    path = Path(path)
    where = f"--recording {path}"
    if not os.path.isfile(path):  # which also answers for impossible names
        problem = "it is a folder" if os.path.isdir(path) else "no such file"
        raise TraceError(where, problem, "Give the .otf2 file of an archive, or DUMPI's text of rank 0")
    if path.suffix == OTF2:
        if find_spec("otf2") is None:
            remedy = "Install it: .venv/bin/python -m pip install otf2, or apt-get install python3-otf2"
            raise TraceError(where, "OTF2 archives are read with the library otf2, which is missing", remedy)

        return read_apart(path)

    return read_dumpi(path)


def core_speeds(text: str | None, nranks: int) -> tuple[float, ...]:
    """Return the speed of each rank's core, flop/s, from one number or a list by rank in Gflop/s.

    Raises:
        OptionError: The text is missing or is no such list.
    """
    example = "Give the Gflop/s of one core on the scale of the platform's hosts, such as --recorded-gflops 40"
    if text is None:
        raise OptionError("--recording", "the speed of the cores that it was recorded on is not given", example)
    where = f"--recorded-gflops {text}"
    try:
        speeds = [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(where, "not a number, or numbers separated by commas", example) from None
    if not all(0 < speed <= _MOST_GFLOPS for speed in speeds):  # refuses NaN too
        raise OptionError(where, f"not between 0 and {_MOST_GFLOPS:g}", example)
    if len(speeds) not in (1, nranks):
        problem = f"{number_of(len(speeds), 'speed')} for {number_of(nranks, 'rank')}"
        raise OptionError(where, problem, "Give one for all ranks, or one for each")
    return tuple(speed * 1e9 for speed in (speeds * nranks if len(speeds) == 1 else speeds))


def recording_of(path: str | Path, gflops: str | None) -> Recording:
    """Return a trace as a recording.

    Args:
        path: The anchor file of an OTF2 archive, or DUMPI's text of rank 0.
        gflops: Speed of the cores that the trace was recorded on, as ``core_speeds`` takes it.

    Raises:
        TraceError: As ``read_trace``; or the ranks' messages or collective calls do not fit together.
        OptionError: The speed is missing or wrong.
    """
    if gflops is not None:
        core_speeds(gflops.split(",")[0], 1)  # refused before a long reading
    else:
        core_speeds(None, 1)
    trace = read_trace(path)
    speeds = core_speeds(gflops, len(trace.ranks))

    recording = assembled(trace, speeds)
    cores = f"on cores of {_range(speeds)} Gflop/s"
    return replace(
        recording,
        remarks=(f"the recording is {path}, made {cores}; it was given, so that it costs no node-seconds here",),
    )


def _range(speeds: Sequence[float]) -> str:
    low, high = min(speeds) / 1e9, max(speeds) / 1e9
    return f"{low:g}" if math.isclose(low, high) else f"{low:g} to {high:g}"
