"""One child process and everything it starts: bounded in time and output, ended whatever happens."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from apps.errors import SimulationError, Stopped
from apps.keeper.program import keeper_program

OUTPUT_LIMIT_BYTES = 256 << 20  # of a program of ours: the record of a large run is one long line
LOG_LIMIT_BYTES = 256 << 10
_HEAD_BYTES = 65536  # that are kept of what is longer, besides its end; as in keeper.cpp
_STEP_S = 0.05  # between looks at the clock and at ``stop``
_PATIENCE_S = 10.0  # for the keeper to end what it keeps


@dataclass(frozen=True)
class Finished:
    """A process that has ended."""

    status: int  # exit status; negative: the signal that ended it
    output: str  # where it was too long, with a line in the middle that says how much was left out
    log: str  # its standard error, likewise
    wall_s: float
    peak_memory_bytes: int  # of the largest process among it and its children
    timed_out: bool = False
    lost: str = ""  # why not all output could be kept, such as a full disk; empty: all was, but for what was too long
    memory_ran_out: bool = False  # the system ended a process for lack of memory meanwhile, maybe one of these


def run_bounded(
    command: Sequence[str],
    *,
    folder: Path,
    time_limit_s: float | None,
    environment: dict[str, str] | None = None,
    working_folder: Path | None = None,
    stop: threading.Event | None = None,
    output_limit_bytes: int = OUTPUT_LIMIT_BYTES,
) -> Finished:
    """Runs a command with an empty input, and waits for it.

    Its output goes to ``folder``, where it also runs unless ``working_folder`` names another; of output beyond
    ``output_limit_bytes`` the beginning and the end are kept.  Nothing that it has started is left when this returns or
    raises, by time limit, interrupt or error, nor when this process is killed: a keeper (apps/keeper) looks after that.
    Raises Stopped as soon as ``stop`` is set; where it already is, nothing is started.
    """
    stop = threading.Event() if stop is None else stop
    if stop.is_set():
        raise Stopped(f"{command[0]}: not started, because its runner has been left")
    out_path, log_path = folder / "stdout", folder / "stderr"
    limits = {out_path: output_limit_bytes, log_path: LOG_LIMIT_BYTES}
    program = keeper_program()  # compiled before the time is taken
    ended_by_system = _ended_for_memory()
    started_s = time.perf_counter()
    report, write_end = os.pipe()
    try:
        try:
            keeper = subprocess.Popen(
                [
                    *(str(program), str(os.getpid()), str(write_end)),
                    *(word for path, limit in limits.items() for word in (str(path), str(limit))),
                    *command,
                ],
                cwd=working_folder or folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(write_end,),
                start_new_session=True,
            )
        finally:
            os.close(write_end)
        try:
            reason = _wait(report, started_s, time_limit_s, stop)
        finally:
            _end(keeper)
        said = os.read(report, 4096).split()
    finally:
        os.close(report)
    if reason == "stop":
        raise Stopped(f"{command[0]}: ended, because its runner has been left")
    if len(said) != 6:  # killed itself, or it could start nothing
        raise SimulationError(f"{command[0]}: the process that looks after it ended with status {keeper.returncode}")
    status, out_bytes, out_problem, log_bytes, log_problem, peak_KiB = map(int, said)
    problem = out_problem or log_problem
    return Finished(
        status=os.waitstatus_to_exitcode(status),
        output=_kept(out_path, out_bytes, output_limit_bytes),
        log=_kept(log_path, log_bytes, LOG_LIMIT_BYTES),
        wall_s=time.perf_counter() - started_s,
        peak_memory_bytes=peak_KiB * 1024,
        timed_out=reason == "time",
        lost=os.strerror(problem) if problem else "",
        memory_ran_out=_ended_for_memory() > ended_by_system,
    )


def _wait(report: int, started_s: float, time_limit_s: float | None, stop: threading.Event) -> str:
    """Until the keeper reports or ends ("end"), the time has passed ("time") or ``stop`` is set ("stop")."""
    poll = select.poll()
    poll.register(report, select.POLLIN)
    while True:
        left_s = _STEP_S
        if time_limit_s is not None:
            left_s = min(left_s, started_s + time_limit_s - time.perf_counter())
        if poll.poll(max(0.0, 1000 * left_s)):
            return "end"
        if time_limit_s is not None and time.perf_counter() - started_s >= time_limit_s:
            return "time"
        if stop.is_set():
            return "stop"


def _end(keeper: subprocess.Popen[bytes]) -> None:
    """Has the keeper end everything, if it has not yet."""
    if keeper.poll() is None:
        keeper.terminate()
    try:
        keeper.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(keeper.pid, signal.SIGKILL)
        keeper.wait()


def _ended_for_memory() -> int:
    """How many processes the system has ended for lack of memory since it started; 0 where it does not say."""
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_bytes().splitlines():
            if line.startswith(b"oom_kill "):
                return int(line.split()[1])
    return 0


def _kept(path: Path, total_bytes: int, limit_bytes: int) -> str:
    """What there is of an output of so many bytes: the head, and a ring of the last ``limit_bytes``."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:  # there was no room for it
        return ""
    left_out = total_bytes - len(content)
    if left_out > 0 and len(content) == _HEAD_BYTES + limit_bytes:
        turn = _HEAD_BYTES + (total_bytes - _HEAD_BYTES) % limit_bytes
        gap = f"\n[{left_out} bytes left out]\n".encode()
        content = content[:_HEAD_BYTES] + gap + content[turn:] + content[_HEAD_BYTES:turn]
    return content.decode("utf-8", "replace")
