"""Background load of shared grids: statements, distributions, draws and their platforms."""

from pathlib import Path

import numpy as np
import pytest

from platforms.background.site import loaded_grid, loaded_platform
from platforms.background.statement import (
    AVAILABILITY,
    FORECASTS,
    LATENCY,
    TRUTHS,
    Availability,
    Distribution,
    Draw,
    asked_background,
    background_names,
    drawn,
)
from platforms.errors import PlatformError
from platforms.grids.scenario import named_grid

GRID = named_grid("grid4x2")


def stated(folder, text):
    path = folder / "load.toml"
    path.write_text(text)
    return asked_background(str(path))


@pytest.mark.parametrize("name", background_names())
def test_presets_say_where_their_numbers_come_from(name):
    background = asked_background(name.upper())
    assert background.name == name
    assert "assumed" in background.source


def test_the_work_of_a_node_is_the_integral_of_its_availability():
    one = Availability((0.5, 1.0, 0.25), (2.0, 1.0, 4.0))  # 3 s of work in every 7 s
    assert [one.done_s(at) for at in (0, 1, 2, 3, 5, 7, 8, 70)] == [0, 0.5, 1, 2, 2.5, 3, 3.5, 30]
    assert one.mean(2.0, 5.0) == pytest.approx(1.5 / 3)
    assert Availability((0.5,), ()).done_s(8) == 4.0


@pytest.mark.parametrize(
    ("kind", "numbers", "cores", "mean"),
    [
        ("uniform", (0.2, 0.6), 1, 0.4),
        ("beta", (2.0, 6.0), 1, 0.25),
        ("values", (0.5, 0.5, 0.8), 1, 0.6),
        ("load", (0.5,), 1, (1 - np.exp(-0.5)) / 0.5),  # E 1/(1+K) of a Poisson number K: (1 - exp(-m)) / m
        ("constant", (0.3,), 4, 0.3),
    ],
)
def test_draws_have_the_mean_of_their_distribution(kind, numbers, cores, mean):
    found = Distribution(kind, numbers, AVAILABILITY).draw(np.random.default_rng(1), 40_000, cores)
    assert np.mean(found) == pytest.approx(mean, rel=0.01)


def test_other_processes_share_the_cores_of_a_node():
    shares = set(Distribution("load", (1.0,), AVAILABILITY).draw(np.random.default_rng(1), 1000, cores=4))
    assert {1.0, 4 / 5, 4 / 6} <= shares


def test_draws_stay_in_the_range_of_their_quantity():
    found = Distribution("lognormal", (1.0, 2.0), LATENCY).draw(np.random.default_rng(1), 1000)
    assert (min(found), max(found)) == (1.0, 100.0)


def test_two_moments_of_a_node_are_correlated_as_the_length_of_its_epochs_says(tmp_path):
    text = "[nodes]\navailability = { kind = 'uniform', low = 0.1, high = 1 }\nepoch_s = 2\n"
    background = stated(tmp_path, text)
    draws = [drawn(background, GRID, seed=1, stream=TRUTHS, number=number) for number in range(500)]
    nodes = [one for draw in draws for one in draw.nodes.values()]
    pairs = np.array([[one.mean(t, t + 1e-6) for t in (3.0, 4.0)] for one in nodes])
    assert np.corrcoef(pairs.T)[0, 1] == pytest.approx(np.exp(-1 / 2), abs=0.03)  # exp(-distance / epoch_s)


def test_draws_repeat_and_those_of_forecasts_are_others():
    background = asked_background("workstations")
    first, again, other, forecast = (
        drawn(background, GRID, seed=1, stream=stream, number=number)
        for stream, number in ((TRUTHS, 3), (TRUTHS, 3), (TRUTHS, 4), (FORECASTS, 3))
    )
    assert first == again
    assert first != other
    assert first != forecast


def test_a_cluster_may_have_a_load_of_its_own(tmp_path):
    text = "[clusters.c2]\navailability = { kind = 'constant', value = 0.5 }\n"
    draw = drawn(stated(tmp_path, text), GRID, seed=1, stream=TRUTHS, number=0)
    assert draw == Draw(
        {f"c2-{i}": Availability((0.5,), ()) for i in (0, 1)},
        dict.fromkeys((link.name for link in GRID.wan_links), 1.0),
        dict.fromkeys((link.name for link in GRID.wan_links), 1.0),
    )


def test_wide_area_links_keep_what_the_draw_leaves():
    names = [link.name for link in GRID.wan_links]
    draw = Draw({}, {name: 0.5 for name in names}, {name: 3.0 for name in names})
    before, after = (grid.routes([("c1-0", "c2-0")])[0] for grid in (GRID, loaded_grid(GRID, draw)))
    assert [link.bandwidth_Bps for link in after.links][2] == before.links[2].bandwidth_Bps / 2
    assert after.latency_s - before.latency_s == pytest.approx(2 * before.links[2].latency_s)


def test_simgrid_reads_the_profiles_of_a_draw():
    nodes = {"c1-0": Availability((0.25, 1.0), (5.0, 2.0)), "c2-1": Availability((0.5,), ())}
    ones = dict.fromkeys((link.name for link in GRID.wan_links), 1.0)
    platform = loaded_platform(GRID, Draw(nodes, ones, ones))
    assert {(one.name, one.share) for one in platform.changes} == {("c1-0", 0.25), ("c2-1", 0.5)}
    assert platform.name == GRID.name


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it states no load. Give .nodes. or .wan."),
        ("[nodes]\nepoch_s = 3\n", "'availability' is missing"),
        ("[nodes]\navailability = 0.5\n", "no kind of distribution in 0.5.*constant"),
        ("[nodes]\navailability = { kind = 'constant', value = 0 }\n", "0 is no availability. Give 0.01 to 1"),
        ("[nodes]\navailability = { kind = 'uniform', low = 1, high = 0.5 }\n", "low is above high"),
        ("[nodes]\navailability = { kind = 'load', mean = 1, a = 2 }\n", "unknown key 'a'"),
        ("[nodes]\navailability = { kind = 'load', mean = nan }\n", "a mean of nan processes"),
        ("[nodes]\navailability = { kind = 'load', mean = 1 }\nepoch_s = 0\n", "epoch_s is 0"),
        ("[wan]\nbandwidth = { kind = 'load', mean = 1 }\n", "no kind of distribution"),
        ("[wan]\nlatency = { kind = 'values', values = [] }\n", "0 values"),
        ("[wan]\nbandwidth = { kind = 'beta', a = 0, b = 1 }\n", "a and b are not all from 0.001 to 1000"),
        ("clusters = 3\n", "clusters is not a table of tables"),
    ],
)
def test_wrong_statements_are_refused(tmp_path, text, said):
    with pytest.raises(PlatformError, match=said):
        stated(tmp_path, text)


def test_unknown_names_and_clusters_are_refused(tmp_path):
    with pytest.raises(PlatformError, match=r"no such background.*workstations"):
        asked_background("workstation")
    background = stated(tmp_path, "[clusters.c9]\navailability = { kind = 'constant', value = 0.5 }\n")
    with pytest.raises(PlatformError, match=r"has no such cluster\. Known: c1, c2, c3, c4"):
        drawn(background, GRID, seed=1, stream=TRUTHS, number=0)


def test_the_example_is_read():
    background = asked_background(str(Path(__file__).parents[3] / "examples" / "shared-grid.toml"))
    assert background.of_cluster("c2").availability.kind == "beta"
    assert background.of_cluster("c1").epoch_s == 0.005
