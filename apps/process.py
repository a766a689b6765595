"""One child process and everything it starts: bounded in time and output, ended whatever happens."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from apps.errors import Stopped

_OUTPUT_LIMIT_BYTES = 256 << 20
_SHOWN_BYTES = 64 << 10
_QUICK_S = 0.005  # between looks at a child: its memory is looked at when they are further apart


@dataclass(frozen=True)
class Finished:
    """A process that has ended."""

    status: int  # exit status; negative: the signal that ended it
    output: str
    log: str  # the end of its standard error
    wall_s: float
    peak_memory_bytes: int  # of the largest process among it and its children, seen up to 50 ms before its end
    timed_out: bool = False
    too_loud: bool = False  # ended because it wrote more than the limit


def die_with_parent() -> list[str]:
    """Words before a command that make it end when its parent is killed, where the system can do that."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []


def run_bounded(
    command: Sequence[str],
    *,
    folder: Path,
    time_limit_s: float | None,
    environment: dict[str, str] | None = None,
    working_folder: Path | None = None,
    stop: threading.Event | None = None,
) -> Finished:
    """Runs a command in a process group of its own, and waits for it.

    Its output goes to ``folder``, where it also runs unless ``working_folder`` names another.  Nothing of the group is
    left when this returns or raises, by time limit, interrupt or error.  Raises Stopped as soon as ``stop`` is set;
    where it already is, nothing is started.
    """
    stop = threading.Event() if stop is None else stop
    if stop.is_set():
        raise Stopped(f"{command[0]}: not started, because its runner has been left")
    out_path, log_path = folder / "stdout", folder / "stderr"
    started = time.perf_counter()
    with open(out_path, "wb") as out, open(log_path, "wb") as log:
        child = subprocess.Popen(
            [*die_with_parent(), *command],
            cwd=working_folder or folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=log,
            start_new_session=True,
        )
    memory = _Memory()
    try:
        reason = _wait(child, started, time_limit_s, (out_path, log_path), stop, memory)
    finally:
        _kill_group(child.pid)  # before the number can be given to another process
        status, usage = _reap(child)
    if reason == "stop":
        raise Stopped(f"{command[0]}: ended, because its runner has been left")
    return Finished(
        status=status,
        output=_tail(out_path, _OUTPUT_LIMIT_BYTES),
        log=_tail(log_path, _SHOWN_BYTES),
        wall_s=time.perf_counter() - started,
        peak_memory_bytes=memory.peak_bytes(usage.ru_maxrss * 1024),
        timed_out=reason == "time",
        too_loud=reason == "output",
    )


class _Memory:
    """The peak memory of a child and its descendants.

    What the system says of an ended child (ru_maxrss) begins with the memory of this process, from which it was forked.
    So it counts only where it is more; else what was seen while the child ran.
    """

    def __init__(self):
        self._seen_bytes = 0
        self._own_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def look(self, pid: int) -> None:
        """Notes the peaks so far of a process and its descendants.  A process that has ended says nothing."""
        with suppress(OSError, ValueError):
            status = Path(f"/proc/{pid}/status").read_text()
            peaks = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
            self._seen_bytes = max(self._seen_bytes, *(int(peak) * 1024 for peak in peaks), 0)
            for descendant in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                self.look(int(descendant))

    def peak_bytes(self, ended_bytes: int) -> int:
        return ended_bytes if ended_bytes > self._own_bytes or not self._seen_bytes else self._seen_bytes


def _wait(
    child: subprocess.Popen,
    started: float,
    time_limit_s: float | None,
    files: Sequence[Path],
    stop: threading.Event,
    memory: _Memory,
) -> str:
    """Sleeps, ever longer, until the child has ended ("end"), a bound is passed ("time", "output") or "stop" is set."""
    pause_s = 0.001
    while True:
        # WNOWAIT leaves the child to be reaped with its resource usage.
        if os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            return "end"
        if time_limit_s is not None and time.perf_counter() - started > time_limit_s:
            return "time"
        if sum(path.stat().st_size for path in files) > _OUTPUT_LIMIT_BYTES:
            return "output"
        if pause_s > _QUICK_S:
            memory.look(child.pid)
        if stop.wait(pause_s):
            return "stop"
        pause_s = min(1.3 * pause_s, 0.05)


def _reap(child: subprocess.Popen):
    _, wait_status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(wait_status)  # so that Popen does not wait again
    return child.returncode, usage


def _kill_group(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _tail(path: Path, limit_bytes: int) -> str:
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - limit_bytes))
        return file.read().decode("utf-8", "replace")
