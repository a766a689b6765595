"""Messages about failed runs: the most informative line of SimGrid's log."""

import pytest

from apps.child.failure import failure
from apps.child.process import Finished
from apps.child.verdict import check_success, readable, telling_line
from platforms.errors import PlatformError

# As SimGrid 3.32 writes it.
GATEWAYS = """\
[host1:1:(2) 0.000000] [ker_context/INFO] Actor killed by an uncaught exception simgrid::AssertionError
[host1:1:(2) 0.000000] ./src/xbt/exception.cpp:40: [xbt_exception/CRITICAL] Uncaught exception simgrid::AssertionError \
by maestro/0: Bad gateways for route from 'host1' to 'node-0.simgrid.org'.
[host1:1:(2) 0.000000] ./src/xbt/exception.cpp:45: [xbt_exception/CRITICAL] Backtrace:
Current backtrace:
"""
NO_WAY = "You're trying to send data from d0 to d0 but there is no connecting path between these two hosts"


def test_an_exception_of_an_actor_is_told_by_its_own_text():
    assert telling_line(GATEWAYS) == "Bad gateways for route from 'host1' to 'node-0.simgrid.org'."


# Three of five ranks wait, as both versions report it; the recorder reports the call of one of them.
DEADLOCK_3_32 = """\
[0.1] ./src/kernel/EngineImpl.cpp:718: [ker_engine/CRITICAL] Oops! Deadlock detected, some activities are still around.
[0.1] [ker_engine/INFO] 3 actors are still running, waiting for something.
[0.1] [ker_engine/INFO] Legend of the following listing: "Actor <pid> (<name>@<host>): <status>"
[0.1] [ker_engine/INFO] Actor 1 (0@h0): waiting for communication activity 0x5 () in state WAITING to finish
[0.1] [ker_engine/INFO] Actor 3 (2@h2): waiting for communication activity 0x6 () in state WAITING to finish
[0.1] [ker_engine/INFO] Actor 5 (4@h4) simcall CommIsend
waits: rank 2 in MPI_Recv
"""
DEADLOCK_4_1 = """\
[0.1] ../src/kernel/EngineImpl.cpp:720: [ker_engine/CRITICAL] Oops! Deadlock detected, some activities are still around.
[0.1] [ker_engine/INFO] 3 actors are still active, awaiting something. Here is their status:
[0.1] [ker_engine/INFO]  - pid 1 (0@h0): waiting for a communication activity 0x5 () in state WAITING
[0.1] [ker_engine/INFO]  - pid 3 (2@h2): waiting for 2 activities to finish
[0.1] [ker_engine/INFO]      - communication activity 0x6 () in state WAITING
[0.1] [ker_engine/INFO]      - communication activity 0x7 () in state WAITING
[0.1] [ker_engine/INFO]  - pid 5 (4@h4) simcall CommIsend
waits: rank 2 in MPI_Recv
"""


@pytest.mark.parametrize("log", [DEADLOCK_3_32, DEADLOCK_4_1], ids=["3.32", "4.1"])
def test_ranks_that_wait_are_named_in_the_log_of_either_simgrid(log):
    shown = failure(Finished(status=0, output="", log=log, wall_s=0.1, peak_memory_bytes=1))
    assert shown.text.startswith("deadlock: ranks 0, 2 in MPI_Recv and 4 wait for messages")


# SimGrid's output after an invalid memory access.
ACCESS_VIOLATION = """\
Access violation or Bus error detected.
This probably comes from a programming error in your code, or from a stack
overflow. If you are certain of your code, try increasing the stack size
   --cfg=contexts/stack-size:XXX (current size is 8192 KiB).

Failing hardware can sometimes generate such errors too.
Segmentation fault
"""


def test_of_an_access_violation_the_likely_causes_are_told():
    shown = failure(Finished(status=139, output="", log=ACCESS_VIOLATION, wall_s=0.1, peak_memory_bytes=1))
    stack = "its stack of 8192 KiB is too small (--cfg contexts/stack-size:KIB)"
    assert shown.text == f"the simulation crashed (SIGSEGV): a fault of the program or of SimGrid, or {stack}"


@pytest.mark.parametrize("log", ["", "Segmentation fault\n", "Segmentation fault (core dumped)\n"])
def test_a_crash_of_which_nothing_is_said_has_the_same_causes(log):
    shown = failure(Finished(status=139, output="", log=log, wall_s=0.1, peak_memory_bytes=1))
    stack = "its stack is too small (--cfg contexts/stack-size:KIB)"
    assert shown.text == f"the simulation crashed (SIGSEGV): a fault of the program or of SimGrid, or {stack}"


def test_a_division_by_zero_has_nothing_to_do_with_the_stack():
    done = Finished(status=136, output="", log="Floating point exception\n", wall_s=0.1, peak_memory_bytes=1)
    assert failure(done).text == "the simulation crashed (SIGFPE): a fault of the program or of SimGrid"


def test_what_the_recorder_notes_is_shown_of_ranks_in_a_deadlock_alone():
    aborted = "[c2-0:1:(2) 0.0] smpi_pmpi.cpp:138: [smpi_pmpi/WARNING] MPI_Abort was called, something went wrong\n"
    log = f"abort: rank 1, code 42\n{aborted}waits: rank 0 in MPI_Barrier\nwaits: the program's own word\n"
    assert readable(log) == [aborted.rstrip(), "waits: the program's own word"]
    assert "waits: rank 2 in MPI_Recv" in readable(DEADLOCK_3_32)


def test_a_message_without_a_way_is_the_platforms_fault():
    log = f"[d0:0:(1) 0.1] ./src/surf/network_cm02.cpp:251: [root/CRITICAL] {NO_WAY}.\nBacktrace:\n"
    done = Finished(status=134, output="", log=log, wall_s=0.1, peak_memory_bytes=1)
    with pytest.raises(PlatformError, match=f"a run: SimGrid says: {NO_WAY}.*loopback_bw"):
        check_success(done, "a run")


def test_ranks_that_wait_are_named_as_far_as_they_are_known():
    shown = failure(Finished(status=0, output="", log="Deadlock detected", wall_s=0.1, peak_memory_bytes=1))
    assert shown.text == "deadlock: the ranks that are left wait for messages that are never sent or received"
