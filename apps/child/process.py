"""Child processes that are limited in time and output, and always ended with everything they have started."""

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

from apps.child.keeper.program import keeper_program
from apps.errors import SimulationError, Stopped
from apps.results.inputs import Inputs
from platforms.files.scratch import interrupts_held

OUTPUT_LIMIT_BYTES = 256 << 20  # large, because a kernel prints the record of a large run as one line
LOG_LIMIT_BYTES = 256 << 10
_HEAD_BYTES = 65536  # kept from the beginning of a longer output, in addition to its end; as in keeper.cpp
_STEP_S = 0.05  # interval between two checks of the clock and of ``stop``
_PATIENCE_S = 10.0  # time that the keeper gets to end its processes


@dataclass(frozen=True)
class Finished:
    """A process that has ended."""

    status: int  # exit status; negative: the signal that ended it
    output: str  # standard output; if it was too long, a line in the middle says how much was left out
    log: str  # standard error, in the same form
    wall_s: float
    peak_memory_bytes: int  # of the largest among the process and its descendants
    timed_out: bool = False
    lost: str = ""  # reason why output could not be written, such as a full disk; empty: at most the limits cut it
    inputs: Inputs | None = None  # its inputs; None: not observed
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
    """Run a command with empty standard input and wait for its end.

    The command's output goes to files in ``folder``, where the command also runs unless ``working_folder`` names
    another folder.  Of output beyond ``output_limit_bytes`` the beginning and the end are kept.  No process that the
    command has started is left when this function returns or raises (time limit, interrupt, error), nor when the
    calling process is killed: a keeper (apps/child/keeper) supervises them.

    Raises:
        Stopped: ``stop`` is set, before or during the run.  If it is set before, nothing is started.
        SimulationError: The keeper itself failed.
    """
    stop = threading.Event() if stop is None else stop
    if stop.is_set():
        raise Stopped(f"{command[0]}: not started, because its runner was closed")
    out_path, log_path = folder / "stdout", folder / "stderr"
    limits = {out_path: output_limit_bytes, log_path: LOG_LIMIT_BYTES}
    program = keeper_program()  # compiled before the clock starts
    ended_by_system = _ended_for_memory()
    started_s = time.perf_counter()
    report, write_end = os.pipe()
    keeper: subprocess.Popen[bytes] | None = None
    try:
        try:
            words = [str(program), str(os.getpid()), str(write_end)]
            words += [word for path, limit in limits.items() for word in (str(path), str(limit))]
            with interrupts_held():  # an unknown keeper would run on, and write into a folder that is being removed
                keeper = _started([*words, *command], working_folder or folder, environment, write_end)
            reason = _wait(report, started_s, time_limit_s, stop)
        finally:
            with interrupts_held():
                if keeper is not None:
                    _end(keeper)
        said = os.read(report, 4096).split()
    finally:
        os.close(report)
    if reason == "stop":
        raise Stopped(f"{command[0]}: ended, because its runner was closed")
    if len(said) == 2:
        reason = os.strerror(int(said[1]))
        raise SimulationError(f"{command[0]}: the system cannot start it ({reason}). Raise its limits (ulimit -a)")
    if len(said) != 6:  # the keeper was killed
        raise SimulationError(f"{command[0]}: its keeper process ended with status {keeper.returncode}")
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


def _started(
    command: Sequence[str], folder: Path, environment: dict[str, str] | None, write_end: int
) -> subprocess.Popen[bytes]:
    """Start the keeper, and close the end of the pipe that it writes to."""
    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(write_end,),
            start_new_session=True,
        )
    finally:
        os.close(write_end)


def _wait(report: int, started_s: float, time_limit_s: float | None, stop: threading.Event) -> str:
    """Wait until the keeper reports or ends ("end"), the time has passed ("time") or ``stop`` is set ("stop")."""
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
    """Make the keeper end all processes, if it has not ended yet."""
    if keeper.poll() is None:
        keeper.terminate()
    try:
        keeper.wait(_PATIENCE_S)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(keeper.pid, signal.SIGKILL)
        keeper.wait()


def _ended_for_memory() -> int:
    """Return how many processes the system has ended for lack of memory since boot; 0 if it does not report it."""
    with suppress(OSError):
        for line in Path("/proc/vmstat").read_bytes().splitlines():
            if line.startswith(b"oom_kill "):
                return int(line.split()[1])
    return 0


def _kept(path: Path, total_bytes: int, limit_bytes: int) -> str:
    """Return the kept part of an output of ``total_bytes``: its head, and its last ``limit_bytes`` from a ring."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:  # no space on the disk to create it
        return ""
    left_out = total_bytes - len(content)
    if left_out > 0 and len(content) == _HEAD_BYTES + limit_bytes:
        turn = _HEAD_BYTES + (total_bytes - _HEAD_BYTES) % limit_bytes
        gap = f"\n[{left_out} bytes left out]\n".encode()
        content = content[:_HEAD_BYTES] + gap + content[turn:] + content[_HEAD_BYTES:turn]
    return content.decode("utf-8", "replace")
