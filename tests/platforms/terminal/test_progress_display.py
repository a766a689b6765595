"""Progress of searches, on a terminal and elsewhere."""

import io
import re
import sys
import time

import pytest

import platforms.terminal.progress
from platforms.terminal.progress import Progress, doing


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def make_terminal(monkeypatch):
    """A function that makes standard error a terminal; pytest would undo it between fixture and test."""

    def make():
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.setattr(sys, "stderr", Terminal())
        return sys.stderr

    return make


def shown(terminal):
    """The text on the terminal without colours and movements of the cursor."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())


def test_a_search_is_a_live_line_on_a_terminal(make_terminal):
    terminal = make_terminal()
    progress = Progress()
    progress("bounds", 1, 8)
    progress("times", 3, 4)
    time.sleep(0.3)  # longer than between two drawings
    progress.close()
    assert re.search(r"0:00:00 .* 3 of 4 times", shown(terminal))
    assert terminal.getvalue().endswith("\x1b[2K")  # the line is gone


def test_the_live_line_tells_what_is_being_done(make_terminal):
    terminal = make_terminal()
    progress = Progress()
    progress.go_live()
    with doing("recording cg B"):
        time.sleep(0.3)
    progress.close()
    assert "recording cg B" in shown(terminal)


def test_an_activity_has_a_live_line_of_its_own_if_it_takes_a_while(make_terminal):
    terminal = make_terminal()
    with doing("something quick"):
        pass
    with doing("drawing the figures"):
        time.sleep(0.9)
    assert "drawing the figures" in shown(terminal) and "quick" not in shown(terminal)


def test_what_is_printed_meanwhile_stays_readable(make_terminal):
    terminal = make_terminal()
    progress = Progress()
    progress("times", 1, 4)
    print("error: a line", file=sys.stderr)
    progress.close()
    assert re.search(r"(^|\n|\r)error: a line\n", shown(terminal))


@pytest.fixture
def clock(monkeypatch):
    """A function that sets the times that a search sees."""

    def of(*times_s):
        left = iter(times_s)
        monkeypatch.setattr(platforms.terminal.progress.time, "perf_counter", lambda: next(left))

    return of


def lines(capsys):
    return [re.sub(" +", " ", line) for line in capsys.readouterr().err.splitlines()]


def test_a_search_says_a_line_a_minute_elsewhere_and_its_last(clock, capsys):
    clock(100.0, 104.0, 160.5, 160.5, 175.0, 219.0, 230.0)
    progress = Progress()
    for done in range(1, 5):
        progress("times", done, 4)
    progress.close()
    assert lines(capsys) == ["[ 60.5 s] 2 of 4: times", "[ 130.0 s] 4 of 4: times"]


def test_a_search_of_less_than_a_minute_says_nothing_elsewhere(clock, capsys):
    clock(100.0, 104.0, 159.0)
    progress = Progress()
    progress("times", 1, 2)
    progress("times", 2, 2)
    progress.close()
    with doing("drawing"):
        pass
    assert lines(capsys) == []


def test_an_activity_says_a_line_a_minute_elsewhere(monkeypatch, capsys):
    monkeypatch.setattr(platforms.terminal.progress, "ACTIVITY_LINES_S", 0.01)
    with doing("all of it"), doing("a part"):
        time.sleep(0.3)
        said = lines(capsys)  # before the part ends: then there are lines of all of it again
    assert said and all(re.fullmatch(r"\[ \d+\.\d s\] a part", line) for line in said[1:])
