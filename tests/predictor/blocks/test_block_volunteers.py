"""Work units on volunteers that join and leave: by hand, in the long run, and over draws."""

import json
import math
import re
import statistics
from itertools import islice, pairwise

import numpy as np
import pytest

from platforms.errors import UserError
from predictor.blocks.volunteers import cli as command
from predictor.blocks.volunteers.cli import Expectation, VolunteersRequest, expectation
from predictor.blocks.volunteers.handing_out import Outcome, outcome
from predictor.blocks.volunteers.periods import Drawn, Law, read_trace
from predictor.blocks.volunteers.project import LEAVES, Project, Volunteer, read_project
from predictor.failures.expected import restart_from_scratch

EXAMPLE = "examples/blocks/volunteers.toml"
TEN_OF_FIFTEEN = Drawn(Law("constant", 10.0), Law("constant", 5.0))


def project(units, leave, *volunteers, timeout_s=math.inf, contact_s=1.0):
    """Units of 4 s on volunteers, each of which is a law or the periods of a trace."""
    made = tuple(Volunteer(4.0, 1.0, *((v,) if isinstance(v, Drawn) else (None, v))) for v in volunteers)
    return Project("x", units, 4.0, timeout_s, leave, made, contact_s)


def done(asked, seed=1, draw=0):
    return outcome(asked, asked.periods(seed, draw))


def test_a_unit_that_continues_takes_its_own_time_of_presence():
    # 5 units are 20 s of computation: 0 to 10 and 15 to 25; the last one ends when the volunteer leaves.
    assert done(project(5, "continue", TEN_OF_FIFTEEN)) == Outcome(25.0, 5, 20.0)


def test_a_unit_that_begins_again_loses_what_was_computed():
    # 0 to 8 two units, 8 to 10 lost, 15 to 23 two more, 23 to 25 lost, 30 to 34 the fifth.
    assert done(project(5, "restart", TEN_OF_FIFTEEN)) == Outcome(34.0, 5, 24.0)


def test_a_lost_unit_is_handed_out_again_after_the_timeout():
    # The third unit is lost at 10, and at 23 nothing is left; nobody is there at its timeout, 28, so it waits until 30.
    assert done(project(5, "abandon", TEN_OF_FIFTEEN, timeout_s=20.0)) == Outcome(34.0, 6, 22.0)


def test_a_volunteer_that_waits_gets_the_unit_of_another_one():
    leaves, stays = ((0.0, 1.0),), ((0.0, 100.0),)
    # Lost at 1, handed out again at 20, heard of at 22.
    asked = project(2, "abandon", leaves, stays, timeout_s=20.0, contact_s=2.0)
    assert done(asked) == Outcome(26.0, 3, 1.0 + 4.0 + 4.0)
    # The volunteer of the lowest number gets it.
    both = project(3, "abandon", leaves, stays, ((0.0, 30.0),), timeout_s=20.0, contact_s=0.0)
    assert done(both) == Outcome(24.0, 4, 1.0 + 4.0 + 4.0 + 4.0)


@pytest.mark.parametrize(
    ("timeout_s", "expected"),
    [
        (20.0, Outcome(25.0, 2, 1.0 + 4.0)),  # the other one computes from 21 to 25, when the first one comes back
        (26.0, Outcome(28.0, 2, 1.0 + 3.0 + 1.0)),  # the first one has come back, and the other one computes for 1 s
    ],
)
def test_the_first_result_of_a_unit_counts(timeout_s, expected):
    asked = project(1, "continue", ((0.0, 1.0), (25.0, 99.0)), ((0.0, 99.0),), timeout_s=timeout_s)
    assert done(asked) == expected


def test_volunteers_that_leave_for_good_are_an_error():
    with pytest.raises(UserError, match=r"the last volunteer leaves for good with 3 units without a result"):
        done(project(5, "continue", ((0.0, 8.5),)))


@pytest.mark.parametrize("leave", LEAVES)
def test_the_long_run_is_that_of_the_formulas(leave):
    on_s, off_s = 10.0, 5.0
    drawn = Drawn(Law("exponential", on_s), Law("exponential", off_s))
    asked = project(3000, leave, drawn, timeout_s=1e6 if leave == "abandon" else math.inf)
    computing_s = 4.0 if leave == "continue" else float(restart_from_scratch(4.0, 1 / on_s))
    assert 1 / asked.units_per_s == pytest.approx(computing_s * (1 + off_s / on_s), rel=1e-12)
    if leave != "abandon":  # whose last units wait for their timeouts
        assert done(asked).time_s * asked.units_per_s / 3000 == pytest.approx(1, abs=0.05)


def test_whole_stretches_of_a_period():
    assert Law("constant", 10.0).whole_stretches(4.0) == 2
    assert Law("constant", 0.3).whole_stretches(0.1) == 3
    for length_s in (0.5, 4.0, 30.0):  # of shape 1 a Weibull distribution is exponential
        wanted = Law("exponential", 10.0).whole_stretches(length_s)
        assert Law("weibull", 10.0, 1.0).whole_stretches(length_s) == pytest.approx(wanted, rel=1e-6)
    # An exponential period holds a stretch with probability p and each further one likewise: p / (1 - p).
    assert Law("exponential", 10.0).whole_stretches(10 * math.log(2)) == pytest.approx(1)


@pytest.mark.parametrize("law", [Law("exponential", 7.0), Law("weibull", 7.0, 0.6), Law("constant", 7.0)])
def test_periods_have_their_mean_lengths(law):
    drawn = Drawn(law, Law("weibull", 3.0, 2.0))
    rows = list(islice(drawn.periods(np.random.default_rng(1)), 20_000))
    assert statistics.fmean(end - begin for begin, end in rows) == pytest.approx(7, rel=0.04)
    assert statistics.fmean(later[0] - row[1] for row, later in pairwise(rows)) == pytest.approx(3, rel=0.04)


@pytest.mark.parametrize("law", [Law("exponential", 6.0), Law("constant", 6.0)])
def test_at_any_time_as_many_are_there_as_in_the_mean(law):
    drawn, generator = Drawn(law, Law("exponential", 4.0), anytime=True), np.random.default_rng(3)
    there = sum(next(drawn.periods(generator))[0] == 0 for _ in range(2000)) / 2000
    assert there == pytest.approx(0.6, abs=5 * math.sqrt(0.6 * 0.4 / 2000))


def test_draws_do_not_depend_on_each_other():
    asked = read_project(EXAMPLE)
    first = [next(rows) for rows in asked.periods(1, 0)]
    assert first == [next(rows) for rows in asked.periods(1, 0)]
    assert len({*first[:40], *(next(rows) for rows in asked.periods(1, 1))} - {(0.0, 43000.0)}) == 80
    assert first[40:] == [(0.0, 43000.0)] * 10


def test_the_interval_is_students():
    found = Expectation(project(1, "continue"), tuple(Outcome(time_s, 1, 4.0) for time_s in (1.0, 2.0, 3.0)))
    # t = 4.3027 with two degrees of freedom, and a standard deviation of 1.
    assert found.interval_s() == pytest.approx((2 - 4.3027 / math.sqrt(3), 2 + 4.3027 / math.sqrt(3)), abs=1e-4)
    assert found.useful == 1


def test_the_example_takes_longer_than_if_all_volunteers_had_work(capsys):
    found = expectation(VolunteersRequest(project=EXAMPLE, draws=10))
    # 8 h of the desktops' 16 h, and half of the lab's: 40 * 0.5 * 6 / 16 + 10 * 1 / 2 = 12.5 units an hour.
    assert found.project.units_per_s * 3600 == pytest.approx(12.5)
    low_s, high_s = found.interval_s()
    assert 400 / 12.5 * 3600 < low_s < found.time_s < high_s
    assert command.main([EXAMPLE, "--draws", "10", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["time_s"] == found.time_s
    assert shown["interval_s"] == [low_s, high_s]
    assert command.main([EXAMPLE, "--draws", "10", "--seed", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["time_s"] != found.time_s


def test_an_interrupted_command_shows_the_draws_that_it_has(monkeypatch, capsys):
    whole, times = outcome, []

    def third_is_interrupted(*given):
        if len(times) == 2:
            raise KeyboardInterrupt
        found = whole(*given)
        times.append(found.time_s)
        return found

    monkeypatch.setattr("predictor.blocks.volunteers.handing_out.outcome", third_is_interrupted)
    assert command.main([EXAMPLE, "--json"]) == 130
    shown = json.loads(capsys.readouterr().out)
    assert (shown["draws"], shown["time_s"]) == (2, pytest.approx(statistics.fmean(times)))


HEAD = "[work]\nunits = 5\noperations = 4\n"
GROUP = "[volunteers.a]\nspeed_flops = 1\n"
CONSTANT = '{ kind = "constant", mean_s = 10 }'


@pytest.mark.parametrize(
    "text, said",
    [
        ("volunteer,from_s,until_s\na,0,10,7\n", "trace.csv, line 2: more than 3 values"),
        ("volunteer,from_s,until_s,from_s\na,0,10,7\n", "its columns are volunteer, from_s, until_s, from_s"),
        ("volunteer,from_s\na,0\n", "its columns are volunteer, from_s. Name the columns"),
        ("volunteer,from_s,until_s\n ,0,10\n", "trace.csv, line 2: the volunteer has no name"),
    ],
)
def test_a_trace_has_three_columns_and_names(tmp_path, text, said):
    (tmp_path / "trace.csv").write_text(text)
    with pytest.raises(UserError, match=re.escape(said)):
        read_trace(tmp_path / "trace.csv")


def test_a_trace_gives_periods_that_nothing_changes(tmp_path, capsys):
    (tmp_path / "trace.csv").write_text("# hours of a lab\nvolunteer,from_s,until_s\na,0,10\nb,3,5\na,15,25\n")
    path = tmp_path / "p.toml"
    path.write_text(f'{HEAD}{GROUP}trace = "trace.csv"\n')
    assert read_project(path).volunteers == (
        Volunteer(4.0, 1.0, None, ((0.0, 10.0), (15.0, 25.0))), Volunteer(4.0, 1.0, None, ((3.0, 5.0),)),
    )  # fmt: skip
    # a: units at 0, 4 and, with a break, 8 to 17; b takes the fourth and never returns it; a has the fifth from 17.
    path.write_text(f'{HEAD.replace("5", "4")}{GROUP}trace = "trace.csv"\n'.replace("units = 4", "units = 3"))
    (tmp_path / "trace.csv").write_text("volunteer,from_s,until_s\na,0,10\na,15,25\n")
    assert command.main([str(path)]) == 0
    assert "time 17.0000 s; nothing is random" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HEAD}leave = 'lost'\n{GROUP}count = 1", "leave is 'lost'. Give one of continue, restart, abandon"),
        (f"{HEAD}leave = 'abandon'\n{GROUP}count = 1", "units are lost, and never handed out again. Give timeout_s"),
        (f"{HEAD}timeout_s = 0\n{GROUP}count = 1", "timeout_s is 0"),
        (HEAD.replace("5", "0") + GROUP, "units is 0"),
        (HEAD, "no [volunteers.NAME]"),
        (f"{HEAD}{GROUP}count = 1", "no kind of law in available = None"),
        (f"{HEAD}{GROUP}count = 1\navailable = {{ kind = 'constant', mean_s = 0 }}", "mean_s is 0"),
        (f"{HEAD}{GROUP}count = 1\navailable = {{ kind = 'weibull', mean_s = 1, shape = 0.01 }}", "shape is 0.01"),
        (f"{HEAD}{GROUP}count = 0\navailable = {CONSTANT}\nabsent = {CONSTANT}", "count is 0"),
        (f"{HEAD}{GROUP}count = 1\nbegin = 'now'", "begin is 'now'"),
        (f"{HEAD}{GROUP}count = 1\ntrace = 'none.csv'", "count beside a trace"),
        (f"{HEAD}{GROUP}trace = 'none.csv'", "none.csv"),
        (f"{HEAD}{GROUP}trace = 'bad.csv'", "bad.csv, line 3: a period from 3 s, before the end of that before it"),
        (f"{HEAD}leave = 'restart'\n{GROUP}count = 1\navailable = {CONSTANT}\nabsent = {CONSTANT}".replace("10", "3"),
         "no volunteer stays long enough for a unit"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(tmp_path, capsys, text, words):
    (tmp_path / "bad.csv").write_text("volunteer,from_s,until_s\na,0,4\na,3,9\n")
    path = tmp_path / "p.toml"
    path.write_text(text)
    assert command.main([str(path)]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.strip().splitlines()) == 1
