"""Why a run has failed, in words, from what SimGrid, the shell, the system and the recorder leave behind."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass

from apps.process import Finished

_EXCEPTION = re.compile(r"Uncaught exception [\w:]+(?: by \S+)?: (.*)")
_PREFIX = re.compile(r"^\[[^]]*\]\s*(\S+:\d+:\s*)?(\[\S+/\w+\]\s*)?")  # [time] file:line: [category/LEVEL]
_SPEAKER = r"^\[(?P<host>[^]]*):(?:rank-)?(?P<rank>\d+):\(\d+\) [\d.]+\] .*"  # a rank's own line
_ABORTED = "MPI_Abort was called"
_ABORT = re.compile(_SPEAKER + _ABORTED, re.MULTILINE)
_ABORT_CODE = re.compile(r"^abort: rank (\d+), code (-?\d+)$", re.MULTILINE)  # the recorder's
_STATUS = re.compile(_SPEAKER + r"did not return 0\. Return value : (?P<status>-?\d+)", re.MULTILINE)
_WAITING_ACTOR = re.compile(r"(?:Actor|- pid) \d+ \((?:rank-)?(\d+)@[^)]*\)")  # SimGrid 3.32 and 4.1
_WAITING_CALL = re.compile(r"^waits: rank (\d+) in (\w+)$", re.MULTILINE)  # the recorder's
# SimGrid's allocator, C++, our kernels and the recorder, Python, the system's word for ENOMEM.
_NO_MEMORY = re.compile(
    r"Memory allocation of \d+ bytes failed|std::bad_alloc|out of memory|MemoryError|Cannot allocate memory"
)
_STACK = re.compile(r"try increasing the stack size\s+--cfg=contexts/stack-size:XXX \(current size is (\d+) KiB\)")
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded|File too large")
_DEADLOCK = "Deadlock detected"
_NAMED = 3  # ranks that are named; of more only the number is said
_SILENCE = "nothing was said"
_SIGNALLED = 128  # what a shell adds to the number of the signal that ended a program
_NOISE = ("/INFO]", "Execution failed with code", " --cfg=smpi/", "SMPI process did not return 0")


@dataclass(frozen=True)
class Failure:
    """Why a run has failed."""

    text: str  # without the full stop
    by_platform: bool = False  # a platform whose hosts and links change may be the cause


def failure(done: Finished) -> Failure | None:
    """None: there is no sign of one, which is no success yet."""
    if done.timed_out:
        return Failure(f"time limit reached after {done.wall_s:.1f} s of wall time")
    if _ABORTED in done.log:
        return Failure(f"the program called MPI_Abort{_who_aborted(done.log)}")
    if done.status != 0:
        lack = _lack(done)
        if lack is not None:
            return Failure(lack)
    if _DEADLOCK in done.log:
        return Failure(
            f"deadlock: {_who_waits(done.log)} for messages that are never sent or received", by_platform=True
        )
    if done.status != 0:
        return _ended_badly(done)
    if "Stalling SMPI instance" in done.log:
        return Failure("some ranks ended without MPI_Finalize", by_platform=True)
    return None


def telling_line(log: str) -> str:
    """The line of a SimGrid log that says most: an exception's own text, else the last complaint."""
    exception = _EXCEPTION.search(log)
    if exception:
        return exception[1]
    lines = [line.strip() for line in log.splitlines() if line.strip() and not any(word in line for word in _NOISE)]
    complaints = [line for line in lines if "CRITICAL" in line or "ERROR" in line or "error" in line.lower()]
    return _PREFIX.sub("", (complaints or lines or [_SILENCE])[-1])


def recorders_words(log: str) -> frozenset[str]:
    """The recorder's lines that would mislead a reader: all, but the calls of ranks that are in a deadlock."""
    deadlocked = _DEADLOCK in log and _ABORTED not in log
    noted = [_ABORT_CODE] if deadlocked else [_ABORT_CODE, _WAITING_CALL]
    return frozenset(match[0] for pattern in noted for match in pattern.finditer(log))


def no_room(done: Finished) -> str | None:
    """That output could not be written, and why; None: no sign of that."""
    said = _NO_SPACE.search(done.log)
    reason = said[0] if said else done.lost
    return f"its files could not be written: {reason}" if reason else None


def _lack(done: Finished) -> str | None:
    """Memory or disk space that was missing."""
    peak = f"{done.peak_memory_bytes / 1e6:.0f} MB were in use"
    if done.memory_ran_out and _signal(done.status) == signal.SIGKILL:
        return f"memory ran out: the system killed the simulation when {peak}"
    said = _NO_MEMORY.search(done.log)
    if said:
        return f"memory ran out: {said[0]}, when {peak}"
    return no_room(done)


def _ended_badly(done: Finished) -> Failure:
    number = _signal(done.status)
    if number is None:
        who = _STATUS.search(done.log)
        if who is not None:
            return Failure(f"rank {who['rank']} ({who['host']}) ended with status {who['status']}{_said(done.log)}")
        return Failure(f"the simulation ended with status {done.status}: {telling_line(done.log)}", by_platform=True)
    name = signal.Signals(number).name
    if number == signal.SIGABRT:  # SimGrid's own way out, too
        return Failure(f"the simulation aborted: {telling_line(done.log)}", by_platform=True)
    if number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU):
        return Failure(f"the simulation was killed ({name})")
    told = telling_line(done.log)
    stack = _STACK.search(done.log)  # amid a dozen lines of SimGrid's advice
    if stack or told.removesuffix(" (core dumped)") in (_SILENCE, signal.strsignal(number)):  # the shell's word for it
        told = "a fault of the program or of SimGrid"
        if number in (signal.SIGSEGV, signal.SIGBUS):
            size = f" of {stack[1]} KiB" if stack else ""
            told += f", or its stack{size} is too small (--cfg contexts/stack-size:KIB)"
    return Failure(f"the simulation crashed ({name}): {told}")


def _said(log: str) -> str:
    line = telling_line(log)
    return "" if line == _SILENCE else f": {line}"


def _signal(status: int) -> signal.Signals | None:
    """That ended a process, or the one that its shell waited for."""
    number = -status if status < 0 else status - _SIGNALLED
    return signal.Signals(number) if number in set(signal.Signals) else None


def _who_aborted(log: str) -> str:
    coded, who = _ABORT_CODE.search(log), _ABORT.search(log)
    rank = coded[1] if coded else who["rank"] if who else None
    code = f" with code {coded[2]}" if coded else ""
    host = f" ({who['host']})" if who else ""
    return code if rank is None else f"{code} on rank {rank}{host}"


def _who_waits(log: str) -> str:
    """Ranks, and the calls they are in where the recorder was there to tell."""
    ranks = sorted({int(rank) for rank in _WAITING_ACTOR.findall(log)})
    if not ranks:
        return "the ranks that are left wait"
    calls = {int(rank): call for rank, call in _WAITING_CALL.findall(log)}
    named = [f"{rank} in {calls[rank]}" if rank in calls else str(rank) for rank in ranks[:_NAMED]]
    if len(ranks) > _NAMED:
        return f"{len(ranks)} ranks wait, such as rank {', rank '.join(named)},"
    *others, last = named
    if not others:
        return f"rank {last} waits"
    return f"ranks {', '.join(others)} and {last} wait"
