"""Draws of volunteers against SimGrid, whose hosts are turned off and on, or stopped, by profiles."""

import json

import pytest

from predictor.blocks.volunteers.handing_out import outcome
from predictor.blocks.volunteers.periods import Drawn, Law
from predictor.blocks.volunteers.project import LEAVES, Project, Volunteer
from validation.blocks.volunteers import main, simulated


@pytest.mark.parametrize("leave", LEAVES)
def test_simgrid_finds_the_times_and_handings_out_of_each_draw(leave):
    drawn = Drawn(Law("weibull", 100.0, 0.7), Law("exponential", 50.0), anytime=True)
    volunteers = tuple(Volunteer(40.0 / (1 + 0.1 * i), 1e9 * (1 + 0.1 * i), drawn) for i in range(7))
    project = Project("x", 30, 4e10, 300.0, leave, volunteers)
    for draw in range(3):
        expected = outcome(project, project.periods(5, draw))
        found = simulated(project, 5, draw, expected)
        assert found.time_s == pytest.approx(expected.time_s, rel=1e-6)
        assert found.handed_out == expected.handed_out


def test_the_command_compares_draw_by_draw(capsys):
    assert main(["examples/blocks/volunteers.toml", "--draws", "2", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [abs(row["error"]) < 1e-6 for row in rows] == [True, True]
