"""Tables, sentences and numbers for a terminal."""

import io
import sys

import pytest

from platforms.terminal.prose import folded_lines, numbered_lines, prose_lines
from platforms.terminal.quantities import duration, percent, significant
from platforms.terminal.table import Cell, Group, table_lines

WORDS = "all messages count as messages between c1 and c2, the slowest path"


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """A function that makes standard output a terminal with this number of columns."""

    def of(columns):
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stdout", Terminal())

    return of


def test_a_table_without_a_terminal_is_folded_to_80_columns_whatever_the_environment_says(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    lines = table_lines([("program", "s"), (WORDS + WORDS, "12.5")], left={0})
    assert max(map(len, lines)) <= 80 and len(lines) == 3
    assert lines[1].endswith("12.5")
    assert "".join("".join(line.split()) for line in lines[1:]).replace("12.5", "") == (WORDS + WORDS).replace(" ", "")


def test_a_name_is_not_broken_where_the_headings_of_numbers_can_be_folded_instead():
    names = ["dpgraph:li-duplex", "blocks:simgrid"]
    heads = ["predictor", *["mean regret %", "best taken %", "wall time s", "evidence %"] * 2]
    lines = table_lines([heads[:-1], *[(name, *["12.34"] * 7) for name in names]], left={0})
    assert max(map(len, lines)) <= 80
    # By hand: 17 for the name, and 2 + 13, 2 + 12, 2 + 11 and 2 + 10 make 113 columns.
    assert [line.split()[0] for line in lines[-2:]] == names
    assert "mean" in lines[0] and "regret" in " ".join(lines[:3])


def test_a_long_path_is_broken_where_a_table_is_too_wide():
    path = "/".join(["folder"] * 20)
    lines = table_lines([("file", "s"), (path, "12.5")], left={0})
    assert max(map(len, lines)) <= 80
    assert "".join(line.split()[0] for line in lines[1:]) == path


def test_a_wide_table_is_never_folded():
    heading, row = table_lines([("program", "s"), (WORDS * 9, "12.5")], left={0}, wide=True)
    assert row == f"{WORDS * 9}  12.5" and heading.endswith("   s")


def test_numbers_are_neither_folded_nor_cut_where_a_table_cannot_be_narrower():
    numbers = [f"{number}.123456789" for number in range(12)]
    heading, *lines = table_lines([("name", *("s",) * 12), ("a name of three words", *numbers)], left={0})
    assert lines[0].split()[-12:] == numbers
    assert len(heading) > 80


def test_cells_are_no_markup():
    assert table_lines([("a", "b"), ("[red]x[/red]", ":smile:")], left={0, 1})[1] == "[red]x[/red]  :smile:"


def test_wide_characters_take_two_columns():
    assert table_lines([("a", "b"), ("日本", "1"), ("x", "2")], left={0})[1:] == ["日本  1", "x     2"]


def test_a_title_stands_before_its_rows():
    rows = [("a", "b"), Group("first"), ("x", "1"), Group("second"), ("y", "2")]
    assert table_lines(rows, left={0}) == ["a  b", "", "first", "x  1", "", "second", "y  2"]


def test_a_long_table_looks_like_a_short_one():
    rows = [("name", "value"), *((f"n{i}", str(7**i % 1000)) for i in range(400))]
    assert table_lines([*rows, *rows[1:] * 3], left={0})[: len(rows)] == table_lines(rows, left={0})


def test_only_a_terminal_has_colours(terminal, monkeypatch):
    rows = [("name", "error %"), ("hcf", Cell("+683", "red"))]
    assert "\x1b" not in "".join(table_lines(rows))
    terminal(80)
    assert "\x1b[31m+683" in table_lines(rows)[1].replace(" ", "")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in "".join(table_lines(rows))


def test_a_terminal_gives_the_width(terminal):
    terminal(50)
    assert max(map(len, prose_lines(WORDS * 3))) <= 50
    lines = [line for line in table_lines([("program", "s"), (WORDS, "12.5")], left={0}) if "\x1b" not in line]
    assert max(map(len, lines)) <= 50 and len(lines) > 1


def test_sentences_keep_numbers_with_their_units_and_names_whole():
    path = "/a/very/long/path/" + "x" * 100
    assert path in prose_lines(f"written to {path} by the command")
    lines = prose_lines("x" * 76 + " 12 %, and 13 s of it")
    assert lines == ["x" * 76, "12 %, and 13 s of it"]


def test_folded_lines_keep_their_indentation():
    first, second = folded_lines(["    " + "word " * 17])
    assert first.startswith("    word") and second.startswith("        word")


def test_a_numbered_list_hangs():
    assert numbered_lines(["word " * 20])[1].startswith("   word")
    assert numbered_lines(["x"] * 10)[0] == " 1  x"


@pytest.mark.parametrize(
    ("time_s", "text"),
    [
        (0.0, "0 s"), (3.2e-7, "0.320 us"), (0.05, "50.0 ms"), (0.5, "0.500 s"), (299.0, "299 s"), (300.0, "5.00 min"),
        (7199.0, "120 min"), (7200.0, "2.00 h"), (3 * 86400.0, "3.00 days"), (3.15576e9, "100 years"),
        (float("nan"), "-"), (None, "-"), (float("inf"), "inf s"), (0.9996, "1.00 s"),
    ],
)  # fmt: skip
def test_times_have_three_digits_and_the_unit_that_reads_best(time_s, text):
    assert duration(time_s) == text


def test_times_that_are_compared_have_one_unit():
    assert [duration(time_s, like_s=1.92) for time_s in (1.9246, 28.276, 1383.0)] == ["1.92 s", "28.3 s", "1380 s"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0099, "<0.01"), (-0.0099, "<0.01"), (0.01, "+0.01"), (-5.109, "-5.11"), (9.996, "+10.0"), (99.96, "+100"),
     (686.14, "+686"), (-1369.15, "-1370"), (2e7, "+2.00e+07"), (float("inf"), "+inf")],
)  # fmt: skip
def test_errors_have_three_digits_and_two_decimals_at_most(value, text):
    assert percent(value, signed=True) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (12345.0, "12300"), (1234567.0, "1.23e+06"), (0.00012345, "0.000123"),
                        (1e-9, "1e-09"), (-27.165, "-27.2"), (999.6, "1000")]
)  # fmt: skip
def test_numbers_have_three_digits(value, text):
    assert significant(value) == text
