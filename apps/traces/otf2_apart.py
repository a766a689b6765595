"""Reading of OTF2 archives in a process of its own (otf2_child.py).

The library prints its own errors, and may fail on a broken archive in ways that would end the whole command.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from apps.child.process import run_bounded
from apps.errors import TraceError
from platforms.files.scratch import scratch_folder

if TYPE_CHECKING:
    from apps.traces.events import Trace

_SAID = re.compile(r"\[OTF2\] .*?: error: (.+)")
REMEDY = "Give the .otf2 file of a complete archive, beside the other files that the tracer wrote"


class UnreadableArchive(TraceError):
    """An archive that the otf2 library cannot read; ``said`` is why."""

    def __init__(self, where: str, said: str):
        super().__init__(where, f"the otf2 library cannot read it: {said}", REMEDY)


def read_apart(path: Path) -> Trace:
    """Return the trace of an OTF2 archive, which a child process reads.

    Raises:
        TraceError: As apps.traces.otf2_archive.read_archive, or the reader failed.
    """
    search_path = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]
    with scratch_folder("trace") as folder:
        result = folder / "result"
        done = run_bounded(
            [sys.executable, "-P", "-m", "apps.traces.otf2_child", str(path.absolute()), str(result), str(path)],
            folder=folder,
            time_limit_s=None,
            environment={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, search_path))},
        )
        said = _SAID.search(done.log)
        if done.status != 0 or not result.is_file():  # perhaps only a part of it, where the disk is full
            why = f"its reader ended with status {done.status}"
            why += ", because memory ran out" if done.memory_ran_out else ""
            raise TraceError(f"--recording {path}", why if said is None else f"{why}: {said[1].rstrip('.!')}", REMEDY)
        with result.open("rb") as file:
            trace: Trace | TraceError = pickle.load(file)  # our own child has written it
    if not isinstance(trace, TraceError):
        return trace
    if said is not None and isinstance(trace, UnreadableArchive):  # the library has printed more than the error says
        raise UnreadableArchive(trace.where, said[1].rstrip(".!"))
    raise trace
