"""What is told of a failed run: the line of SimGrid's log that says most."""

import pytest

from apps.process import Finished
from apps.verdict import check_success, telling_line
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


def test_a_message_without_a_way_is_the_platforms_fault():
    log = f"[d0:0:(1) 0.1] ./src/surf/network_cm02.cpp:251: [root/CRITICAL] {NO_WAY}.\nBacktrace:\n"
    done = Finished(status=134, output="", log=log, wall_s=0.1, peak_memory_bytes=1)
    with pytest.raises(PlatformError, match=f"a run: SimGrid says: {NO_WAY}.*loopback_bw"):
        check_success(done, "a run")
