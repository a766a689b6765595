"""Text output of frequencies, and the search where times violate its assumptions."""

import re
from itertools import product
from types import SimpleNamespace

import pytest

from apps.programs.problem import problem
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.scenario import read_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.base import HostLoad, OutOfRange, Prediction
from predictor.clock import cli, search
from predictor.clock.levels import Levels, at_maximum
from validation.clock.compare import choices

CLUSTER = """
[[clusters]]
nodes = 1
speed_gflops = {speed}
frequencies = {{ max_ghz = {highest}, min_ghz = 1.0, step_ghz = 0.5 }}
"""


def grid_of(tmp_path, *clusters):
    """Return clusters of one node, by speed in Gflop/s and highest frequency in GHz; the lowest is 1 GHz."""
    path = tmp_path / "grid.toml"
    path.write_text("".join(CLUSTER.format(speed=speed, highest=highest) for speed, highest in clusters))
    return path


class Formula:
    """A model with a time by formula; each host has a given computing time at the highest frequency."""

    def __init__(self, time_s, core_s):
        self.time_s, self.core_s = time_s, core_s

    def predict(self, target, slowdown=None):
        slowdown = slowdown or {}
        by_cluster = [slowdown.get(cluster.name, 1.0) for cluster in target.platform.clusters]
        loads = {
            host: HostLoad(one * s, one * s, one * s)
            for host, one, s in zip(target.placement, self.core_s, by_cluster, strict=True)
        }
        return Prediction(time_s=self.time_s(by_cluster), parts={}, loads=loads)


def levels_of(path, time_s, core_s):
    grid = at_maximum(read_grid(path))
    platform = materialise(grid)
    target = Target(problem("ep", "S"), platform, block(platform, len(platform.hosts)))
    return Levels(grid, target, Formula(time_s, core_s))


FIVE = ((40, 2.5), (50, 2.0), (60, 2.5), (70, 1.0), (45, 2.0))  # 4, 3, 4, 1 and 3 levels


@pytest.mark.parametrize("objective", ["energy", "edp"])
@pytest.mark.parametrize(
    ("time_s", "core_s"),
    [
        (lambda s: 1.0 + sum(s), (1.0, 0.9, 0.8, 0.7, 0.6)),
        (lambda s: max(s[0], 1.2 * s[1], 0.8 * s[2], s[3], 0.5 * s[4]), (0.9, 1.0, 0.7, 0.9, 0.4)),
        (lambda s: 3 + sum(one**0.25 for one in s), (1.0, 0.9, 0.8, 0.7, 0.6)),  # concave: its tangents lie above it
    ],
    ids=["sum", "longest", "concave"],
)
def test_no_choice_beats_the_one_that_is_found_by_more_than_the_gap(monkeypatch, tmp_path, time_s, core_s, objective):
    levels = levels_of(grid_of(tmp_path, *FIVE), time_s, core_s)
    points = [levels.point(hz) for hz in product(*(one.levels_hz for one in levels.frequencies))]
    assert len(points) == 4 * 3 * 4 * 1 * 3
    value = search.OBJECTIVES[objective]
    values = [value(point.time_s, point.energy_j) for point in points if point.time_s <= 1.5 * points[0].time_s]
    monkeypatch.setattr(search, "EXHAUSTIVE", 1)
    fresh = Levels(levels.grid, levels.target, levels.model)
    found = search.best(fresh, time_limit=1.5, objective=objective, evaluations=120)
    lost = 1 - min(values) / value(found.point.time_s, found.point.energy_j)
    assert -1e-12 <= lost <= found.gap + 1e-12
    assert found.choices == 144 and found.evaluated <= 120


def test_searches_that_cannot_be_made_are_refused(monkeypatch, tmp_path):
    levels = levels_of(grid_of(tmp_path, *FIVE), max, (1.0,) * 5)
    with pytest.raises(UserError, match="--evaluations 0: not positive"):
        search.best(levels, evaluations=0)
    monkeypatch.setattr(search, "MOST_CHOICES", 143)
    with pytest.raises(OutOfRange, match="frequencies of 5 clusters: 144 choices of frequencies, at most 143"):
        search.best(levels)


def test_the_best_is_shown_even_where_it_is_another_choice_too(tmp_path):
    levels = levels_of(grid_of(tmp_path, (40, 2.0)), lambda s: s[0], (1.0,))
    highest, lowest = levels.point((2e9,)), levels.point((1e9,))
    study = SimpleNamespace(
        highest=highest, lowest=lowest, best=SimpleNamespace(point=lowest), sweeps={"c1": (highest, lowest)}
    )
    assert choices(study) == [("highest", highest), ("lowest", lowest), ("best", lowest)]


def test_a_table_tells_what_each_frequency_costs_and_saves(tmp_path, capsys):
    # By hand: EP only computes. The node of 40 Gflop/s needs longest: at 1 of 2 GHz twice as long; at 1.5 GHz the one
    # of 50 needs 40 / 50 * 2 / 1.5 = 1.067 times as long as that. (What EP sends takes less than 1 %.)
    path = grid_of(tmp_path, (40, 2.0), (50, 2.0))
    options = "--network infiniband --app ep --class S --predictor dpgraph:known --time-limit 1.5 --no-store"
    assert cli.main(["--scenario", str(path), *options.split()]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ep S on 2 ranks of grid: smallest energy by --frequency ")
    rows = [line for line in lines if line.startswith(("c1 ", "c2 ", "all "))]
    shown = {tuple(row.split()[:2]): float(re.search(r"[+-]\d[\d.]*", row)[0]) for row in rows}
    assert shown["c1", "1"] == pytest.approx(100, abs=1)
    assert shown["c2", "1.5"] == pytest.approx(6.7, abs=1)
    assert shown["c2", "2"] == shown["all", "max"] == 0
    assert shown["all", "min"] == shown["c1", "1"]
    assert "of 9 choices by 9 predictions; none is better" in "\n".join(lines)


def test_assumed_frequencies_are_said(capsys):
    options = "--scenario grid4x2 --app ep --class S --predictor hcf:constant --no-store --json"
    assert cli.main(options.split()) == 0
    # platforms/model/frequencies.toml: the levels of the nodes of 60 and 70 Gflop/s are not completely published.
    assert "caution: frequencies of c3, c4 are assumed" in capsys.readouterr().err
