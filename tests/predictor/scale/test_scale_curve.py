"""Speed-up, efficiency, the fastest number of ranks and the knee, by hand."""

import pytest

from apps.programs.problem import problem
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.platform import Cluster, Host, Platform
from predictor.scale.curve import best_row, knee_row, rows_of
from predictor.scale.picture import scale_figure
from predictor.scale.points import Point
from predictor.scale.request import Growth
from predictor.scale.text import notes, sentences, table

HOSTS = tuple(Host(f"h{number}", 1e9, 1) for number in range(16))
PLATFORM = Platform("p", "/nowhere.xml", "", (Cluster("c", HOSTS),))


def point(time_s):
    return Point(time_s, None, None, "not calibrated", None, None, None, (), (), 0.0, 0.0)


def curve(times_s, growth=None):
    targets = [Target(problem("cg", "S"), PLATFORM, tuple(host.name for host in HOSTS[:ranks])) for ranks in times_s]
    results = [point(time) if isinstance(time, float) else time for time in times_s.values()]
    return rows_of(targets, results, growth)


def test_strong_scaling_by_hand():
    rows = curve({2: 10.0, 4: 6.0, 8: 5.0, 16: 8.0})
    assert [row.speed_up for row in rows] == pytest.approx([1, 10 / 6, 2, 1.25])
    assert [row.efficiency for row in rows] == pytest.approx([1, 5 / 6, 0.5, 0.15625])
    assert best_row(rows).ranks == 8
    # Speed-up times efficiency: 1, 1.389, 1, 0.195.
    assert knee_row(rows).ranks == 4
    said = list(sentences(rows, None))
    assert said[0].startswith("more ranks stop helping at 8: 5.00 s, speed-up 2.00; on 16 it is 1.25")
    assert said[1].startswith("the knee, with the largest speed-up times efficiency, is at 4 ranks: 6.00 s")


def test_the_picture_names_the_fastest_number_of_ranks():
    for times_s, text in (({1: 1.0, 2: 2.0}, "fastest: 1 rank"), ({1: 2.0, 2: 1.0}, "fastest: 2 ranks")):
        drawn = scale_figure(curve(times_s), None, "title", {})
        labels = [label for axes in drawn.axes for label in axes.get_legend_handles_labels()[1]]
        assert text in labels


def test_weak_scaling_counts_the_work_done_per_time():
    rows = curve({2: 10.0, 4: 10.0, 8: 20.0}, Growth("size", 100, 2))
    assert [row.value for row in rows] == [100, 141, 200]
    assert [row.efficiency for row in rows] == pytest.approx([1, 1, 0.5])
    assert [row.speed_up for row in rows] == pytest.approx([1, 2, 2])
    assert "size" in table(rows, "size", wide=True)[0]


def test_a_point_that_fails_leaves_the_others_and_says_why():
    rows = curve({2: UserError("cg", "too few ranks", "Take more"), 4: 6.0, 8: 3.0})
    assert rows[0].speed_up is None and rows[2].speed_up == pytest.approx(2)
    assert best_row(rows).ranks == 8
    assert "on 2 ranks, no answer: cg: too few ranks. Take more." in list(notes(rows))
    assert rows[0].to_json()["refused"] and rows[0].to_json()["time_s"] is None
