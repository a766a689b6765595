"""Explanation of a failed run, from the output of SimGrid, the shell, the system and the recorder, and from outages."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from apps.child.process import Finished
from apps.errors import Departed, KernelError, SimulationError, Unrecorded
from platforms.errors import PlatformError
from platforms.model.platform import Change

_EXCEPTION = re.compile(r"Uncaught exception [\w:]+(?: by \S+)?: (.*)")
_PREFIX = re.compile(r"^\[[^]]*\]\s*(\S+:\d+:\s*)?(\[\S+/\w+\]\s*)?")  # [time] file:line: [category/LEVEL]
_SPEAKER = r"^\[(?P<host>[^]]*):(?:rank-)?(?P<rank>\d+):\(\d+\) [\d.]+\] .*"  # a line that a rank printed
_ABORTED = "MPI_Abort was called"
_ABORT = re.compile(_SPEAKER + _ABORTED, re.MULTILINE)
_ABORT_CODE = re.compile(r"^abort: rank (\d+), code (-?\d+)$", re.MULTILINE)  # printed by the recorder
_STATUS = re.compile(_SPEAKER + r"did not return 0\. Return value : (?P<status>-?\d+)", re.MULTILINE)
_WAITING_ACTOR = re.compile(r"(?:Actor|- pid) \d+ \((?:rank-)?(\d+)@[^)]*\)")  # SimGrid 3.32 and 4.1
_WAITING_CALL = re.compile(r"^waits: rank (\d+) in (\w+)$", re.MULTILINE)  # printed by the recorder
# SimGrid's allocator, C++, the kernels and the recorder, Python, the system's text for ENOMEM.
_NO_MEMORY = re.compile(
    r"Memory allocation of \d+ bytes failed|std::bad_alloc|out of memory|MemoryError|Cannot allocate memory"
)
_NO_PROCESS = re.compile(r"Cannot fork|fork: Resource temporarily unavailable|no thread to|pthread_create failed")
_STACK = re.compile(r"try increasing the stack size\s+--cfg=contexts/stack-size:XXX \(current size is (\d+) KiB\)")
_NO_SPACE = re.compile(r"No space left on device|Disk quota exceeded|File too large")
_NOT_FOUND = re.compile(r"dlopen failed: (\S+): cannot open shared object file")
_DEADLOCK = "Deadlock detected"
_NO_DATE = re.compile(r"^\[(?:[^]]*\) )?-?(?:inf|nan)\]", re.MULTILINE)  # SimGrid's clock at the beginning of a line
INFINITE = "the simulated time is infinite: a host is too slow, or the work too much"
_NAMED = 3  # largest number of ranks named in a message; the number of all ranks is added if there are more
_LONGEST = 160  # characters of a quoted line
_SILENCE = "nothing was said"
_SIGNALLED = 128  # a shell adds this to the number of the signal that ended a program
_NOISE = ("/INFO]", "Execution failed with code", " --cfg=smpi/", "SMPI process did not return 0")


@dataclass(frozen=True)
class Failure:
    """The reason of a failed run."""

    text: str  # without the full stop
    by_platform: bool = False  # changes of the platform's hosts and links may be the cause


def failure(done: Finished) -> Failure | None:
    """Return why the run failed, or None without a sign of failure.

    None does not mean success yet; see ``apps.child.verdict``.
    """
    if done.timed_out:
        return Failure(f"time limit reached after {done.wall_s:.1f} s of wall time")
    if _ABORTED in done.log:
        return Failure(f"the program called MPI_Abort{_who_aborted(done.log)}")
    if done.status != 0:
        lack = _lack(done)
        if lack is not None:
            return Failure(lack)
    if _NO_DATE.search(done.log):
        return Failure(INFINITE)
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
    """Return the most informative line of a SimGrid log: an exception's text, else the last error line."""
    exception = _EXCEPTION.search(log)
    if exception:
        return exception[1]
    lines = [line.strip() for line in log.splitlines() if line.strip() and not any(word in line for word in _NOISE)]
    complaints = [line for line in lines if "CRITICAL" in line or "ERROR" in line or "error" in line.lower()]
    return _PREFIX.sub("", (complaints or lines or [_SILENCE])[-1])


def recorders_words(log: str) -> frozenset[str]:
    """Return the recorder's lines that users need not see: all, except the waiting calls of a deadlock."""
    deadlocked = _DEADLOCK in log and _ABORTED not in log
    noted = [_ABORT_CODE] if deadlocked else [_ABORT_CODE, _WAITING_CALL]
    return frozenset(match[0] for pattern in noted for match in pattern.finditer(log))


def printed_lines(output: str) -> list[str]:
    """Return the lines printed by the program itself, without those of smpirun."""
    return [
        line.rstrip()
        for line in output.splitlines()
        if line.strip() and "Execution failed with code" not in line and " --cfg=smpi/" not in line
    ]


def no_room(done: Finished) -> str | None:
    """Return a message with the reason if output could not be written, else None."""
    said = _NO_SPACE.search(done.log)
    reason = said[0] if said else done.lost
    return f"its files could not be written: {reason}" if reason else None


def _lack(done: Finished) -> str | None:
    """Return a message if memory or disk space ran out, else None."""
    peak = f"{done.peak_memory_bytes / 1e6:.0f} MB were in use"
    if done.memory_ran_out and _signal(done.status) == signal.SIGKILL:
        return f"memory ran out: the system killed the simulation when {peak}"
    said = _NO_MEMORY.search(done.log)
    if said:
        return f"memory ran out: {said[0]}, when {peak}"
    if _NO_PROCESS.search(done.log):
        return "the system gives no more processes and threads. Raise its limit (ulimit -u)"
    return no_room(done)


def _ended_badly(done: Finished) -> Failure:
    number = _signal(done.status)
    if number is None:
        who = _STATUS.search(done.log)
        if who is not None:
            reason = _said(done.log) or _printed_last(done.output)
            return Failure(f"rank {who['rank']} ({who['host']}) ended with status {who['status']}{reason}")
        return Failure(f"the simulation ended with status {done.status}: {telling_line(done.log)}", by_platform=True)
    name = signal.Signals(number).name
    unfound = _NOT_FOUND.search(done.log)
    if unfound is not None:
        return Failure(
            f"the loader does not find {unfound[1]}, which the program needs. Name its folder in LD_LIBRARY_PATH"
        )
    if number == signal.SIGABRT:  # SimGrid also ends itself by it
        return Failure(f"the simulation aborted: {telling_line(done.log)}", by_platform=True)
    if number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGXCPU):
        return Failure(f"the simulation was killed ({name})")
    text = telling_line(done.log)
    stack = _STACK.search(done.log)  # one of a dozen lines of SimGrid's advice
    if stack or text.removesuffix(" (core dumped)") in (_SILENCE, signal.strsignal(number)):  # the shell's own text
        text = "a fault of the program or of SimGrid"
        if number in (signal.SIGSEGV, signal.SIGBUS):
            size = f" of {stack[1]} KiB" if stack else ""
            text += f", or its stack{size} is too small (--cfg contexts/stack-size:KIB)"
    return Failure(f"the simulation crashed ({name}): {text}")


def _printed_last(output: str) -> str:
    """Return the last line printed by the program: it often states why the program ended."""
    lines = printed_lines(output)
    return f": its last line of output is {lines[-1].strip()[:_LONGEST]!r}" if lines else ""


def _said(log: str) -> str:
    line = telling_line(log)
    return "" if line == _SILENCE else f": {line}"


def _signal(status: int) -> signal.Signals | None:
    """Return the signal that ended a process, or the process that its shell waited for; None if no signal did."""
    number = -status if status < 0 else status - _SIGNALLED
    return signal.Signals(number) if number in set(signal.Signals) else None


def _who_aborted(log: str) -> str:
    coded, who = _ABORT_CODE.search(log), _ABORT.search(log)
    rank = coded[1] if coded else who["rank"] if who else None
    code = f" with code {coded[2]}" if coded else ""
    host = f" ({who['host']})" if who else ""
    return code if rank is None else f"{code} on rank {rank}{host}"


def _who_waits(log: str) -> str:
    """Return which ranks wait, and in which calls if the recorder has written them."""
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


_SAID = re.compile(r"^recorder: (?:(unsupported|lacking|sampled|departs): )?(.*)$", re.MULTILINE)


def check_recorded(done: Finished, what: str) -> None:
    """Check that the recorder did not stop the program.

    Raises:
        Unrecorded: The program makes a call that cannot be recorded.
        KernelError: The program makes a call that SimGrid lacks, or times itself.
        Departed: The program behaves differently from the run in which its computation was timed.
        SimulationError: The recorder stopped for another reason.
    """
    said = _SAID.search(done.log)
    if said is None:
        return
    how, text = said.groups()
    if how == "unsupported":
        raise Unrecorded(what, f"the program calls {text}, which cannot be recorded", "Do without that call")
    if how == "lacking":
        raise KernelError(what, f"the program calls {text}, which SimGrid does not have", "Do without that call")
    if how == "departs":
        other = "the program behaves differently from the run in which its computation was timed"
        raise Departed(f"{what}: {other}: {text}", done.log)
    if how == "sampled":
        raise KernelError(what, text, "Such times are real ones: give --compute measured")
    raise SimulationError(f"{what}: the recorder stopped: {text}", done.log)


_REMEDY = "Leave it out (--clusters, --hostfile), or remove its profile"


@contextmanager
def failures_explained(changes: Sequence[Change], done: Finished) -> Iterator[None]:
    """Replace a SimulationError by a PlatformError if the platform's profiles may have caused it.

    A host that a profile has turned off does not answer, and SimGrid loses messages that are on a link when a profile
    changes the link.  Runs that were ended from outside, by the program itself or for lack of memory keep their error.

    Raises:
        PlatformError: In place of the SimulationError.
    """
    try:
        yield
    except SimulationError as err:
        harmful = [change for change in changes if change.kind == "state" or change.resource == "link"]
        failed = failure(done)
        if not harmful or (failed is not None and not failed.by_platform):
            raise
        worst = min(harmful, key=lambda change: (change.kind != "state", change.from_s))
        lost = "" if worst.kind == "state" else ", and SimGrid loses the messages that are on the link at that time"
        more = f" ({len(harmful) - 1} more like that)" if len(harmful) > 1 else ""
        raise PlatformError(str(err), f"{worst}{lost}{more}", _REMEDY) from err
