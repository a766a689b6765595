"""Progress of searches, on a terminal and elsewhere."""

import io
import re
import sys

import platforms.terminal.progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_search_is_a_bar_on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    progress = platforms.terminal.progress.Progress()
    progress("bounds", 1, 8)
    progress("times", 3, 4)
    progress.close()
    last = sys.stderr.getvalue().rpartition("\r")[2]
    assert " 75%" in last and "times" in last and last.endswith("\n")


def test_a_search_says_a_line_every_five_seconds_elsewhere(monkeypatch, capsys):
    clock_s = iter((100.0, 104.0, 105.5, 110.0, 111.0))
    monkeypatch.setattr(platforms.terminal.progress.time, "perf_counter", lambda: next(clock_s))
    progress = platforms.terminal.progress.Progress()
    for done in range(4):
        progress("times", done, 4)
    progress.close()
    lines = capsys.readouterr().err.splitlines()
    assert [re.sub(" +", " ", line) for line in lines] == ["[ 5.5 s] 1 of 4: times", "[ 11.0 s] 3 of 4: times"]
