"""Time and energy at other frequencies, checked by hand with a model that gives each node's computing time."""

import math

import pytest

from apps.programs.problem import problem
from apps.spec.target import Target
from platforms.errors import PlatformError, UserError
from platforms.grids.grid import Grid, GridCluster, WanLink, Wire
from platforms.model.frequency import Frequencies, ghz, known_speeds_flops
from platforms.model.platform import Cluster, Host, Platform, Power
from predictor.base import HostLoad, Prediction
from predictor.clock.levels import Levels, Point, at_maximum, clusters_in_use, follows_speeds, levels_of

WIRE = Wire(125e6, 50e-6)
# At half the frequency the 20 W above idle of c1 are 20 / 8, and the 35 W of c2, which go as the square, 35 / 4.
C1 = GridCluster("c1", 2, 40e9, WIRE, WIRE, 2, Power(4.0, 24.0, 4.0), Frequencies(2e9, 1e9, 0.5e9))
C2 = GridCluster("c2", 2, 70e9, WIRE, WIRE, 1, Power(7.0, 42.0, 10.0), Frequencies(3e9, 1.5e9, 1.5e9, 2.0))
C3 = GridCluster("c3", 1, 50e9, WIRE, WIRE, 1, Power(100.0, 200.0, 100.0), Frequencies(2e9, 1e9, 1e9))
LINKS = tuple(WanLink(a, b, WIRE) for a, b in (("c1", "c2"), ("c1", "c3"), ("c2", "c3")))
GRID = Grid("three", "gigabit", (C1, C2, C3), "mesh", LINKS)
LOADS = {"c1-0": HostLoad(6.0, 3.0, 3.0), "c1-1": HostLoad(4.0, 2.0, 2.0), "c2-0": HostLoad(3.0, 3.0, 3.0)}


def platform(watts=True):
    clusters = tuple(
        Cluster(c.name, tuple(Host(h, c.speed_flops, c.cores, c.power if watts else None) for h in c.host_names))
        for c in GRID.clusters
    )
    return Platform("three", "/nowhere.xml", "three", clusters)


class Known:
    """A model with a known answer, which records the slowdowns that it is asked for."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def predict(self, target, slowdown=None):
        assert target.placement and set(slowdown or ()) <= {cluster.name for cluster in target.platform.clusters}
        self.asked.append(slowdown)
        return self.answer


def levels(answer=None, watts=True):
    answer = answer or Prediction(10.0, loads=LOADS, flags=("beware",))
    return Levels(GRID, Target(problem("cg", "S"), platform(watts), ("c1-0", "c1-1", "c2-0")), Known(answer))


def test_only_clusters_with_a_rank_are_in_use():
    assert clusters_in_use(GRID, ("c2-1", "c1-0")) == (C1, C2)
    assert clusters_in_use(GRID, ("c3-0",)) == (C3,)
    assert levels().clusters == (C1, C2)
    assert levels().highest == (2e9, 3e9)
    assert [one.levels_hz for one in levels().frequencies] == [(2e9, 1.5e9, 1e9), (3e9, 1.5e9)]


def test_a_point_by_hand():
    asked = levels()
    found = asked.point((1e9, 3e9))
    # c1 at 4 W and 2.5 / 2 W for each busy core: 40 + 1.25 6 and 40 + 1.25 4 J; c2 at 7, 10 and 42 W: 70 + 3 3 + 32 3.
    assert found == Point((1e9, 3e9), 10.0, pytest.approx(47.5 + 45 + 175), ("beware",))
    assert asked.model.asked == [{"c1": 2.0, "c2": 1.0}]
    assert found.edp_js == pytest.approx(2675)


def test_the_energy_of_a_point_is_counted_over_the_prediction_s_span():
    longer = levels(Prediction(10.0, loads=LOADS, span_s=12.0)).point((1e9, 3e9))
    assert (longer.time_s, longer.energy_j) == (10.0, pytest.approx(267.5 + 2 * (4 + 4 + 7)))


def test_each_point_is_predicted_once():
    asked = levels()
    assert asked.evaluated == 0
    points = [asked.point(hz) for hz in ((2e9, 3e9), (1e9, 1.5e9), (2e9, 3e9))]
    assert points[0] is points[2]
    assert (asked.evaluated, asked.model.asked) == (2, [{"c1": 1.0, "c2": 1.0}, {"c1": 2.0, "c2": 2.0}])


def test_dynamic_energy_of_a_cluster_by_hand():
    # At half the frequency twice as long: 2 (20 / 8) W (6 + 4) / 2 s; 2 (35 / 4) W 3 s.
    asked = levels()
    assert asked.dynamic_j(0, 1e9) == pytest.approx(25.0)
    assert asked.dynamic_j(0, 2e9) == pytest.approx(100.0)
    assert asked.dynamic_j(1, 1.5e9) == pytest.approx(52.5)
    assert asked.model.asked == [None]  # at the highest frequencies, once


def test_idle_power_is_that_of_the_nodes_in_use():
    assert levels().idle_w == 4 + 4 + 7
    one = Levels(GRID, Target(problem("cg", "S"), platform(), ("c2-0", "c2-1")), Known(None))
    assert one.idle_w == 14


def test_no_run_is_shorter_than_its_busiest_node_computes():
    asked = levels()
    assert asked.least_time_s(0, 2e9) == pytest.approx(3.0)
    assert asked.least_time_s(0, 1e9) == pytest.approx(6.0)
    assert asked.least_time_s(1, 1.5e9) == pytest.approx(6.0)
    assert levels(Prediction(1.0, loads={})).least_time_s(0, 1e9) == 0.0


def test_a_point_has_a_frequency_for_each_cluster_in_use():
    for frequencies_hz in ((1e9,), (1e9, 3e9, 2e9)):
        with pytest.raises(ValueError, match="zip"):
            levels().point(frequencies_hz)


def test_what_cannot_be_said_is_refused():
    with pytest.raises(UserError) as error:
        levels(watts=False).point((2e9, 3e9))
    assert str(error.value) == "frequencies: the platform gives no watts. Give every node its watts."
    with pytest.raises(UserError) as error:
        levels(Prediction(1.0)).point((2e9, 3e9))
    assert str(error.value) == "frequencies: the model does not give the loads of the nodes. Use dpgraph."
    with pytest.raises(ValueError, match="cluster bare has no frequencies"):
        levels_of(GridCluster("bare", 1, 1e9, WIRE, WIRE))


def test_models_that_follow_the_speed_of_nodes_take_a_slowdown():
    class Deaf:
        def predict(self, target):
            raise AssertionError

    assert follows_speeds(Known(None))
    assert not follows_speeds(Deaf())


def test_a_grid_at_its_highest_frequencies():
    low = GRID.at([1e9, 1.5e9, None])
    assert [one.frequency_hz for one in at_maximum(low).clusters] == [2e9, 3e9, 2e9]


# Levels themselves.


def test_levels_go_down_by_the_step_to_the_lowest():
    assert Frequencies(2e9, 1e9, 0.5e9).levels_hz == (2e9, 1.5e9, 1e9)
    # A level less than half a step above the lowest is replaced by the lowest: 1.13 is, and 1.19 is not.
    assert Frequencies(2e9, 1e9, 0.29e9).levels_hz == (2e9, 1.71e9, 1.42e9, 1e9)
    assert Frequencies(2e9, 1e9, 0.27e9).levels_hz == (2e9, 1.73e9, 1.46e9, 1.19e9, 1e9)
    assert Frequencies(2e9, 2e9, 1e9).levels_hz == (2e9,)
    assert Frequencies(2e9, 1.9e9, 1e9).levels_hz == (2e9, 1.9e9)  # a step too large leaves the two ends


def test_power_above_idle_goes_as_the_power_of_the_frequency():
    # At 2 of 3 GHz: 8 / 27 of 27 W and of 13.5 W, above 5 W.
    assert Frequencies(3e9, 1e9, 1e9).power(Power(5.0, 32.0, 18.5), 2e9) == Power(
        5.0, pytest.approx(13.0), pytest.approx(9.0)
    )
    assert Frequencies(3e9, 1e9, 1e9, 0.0).power(Power(5.0, 32.0, 18.5), 1e9) == Power(5.0, 32.0, 18.5)
    assert Frequencies(3e9, 1e9, 1e9).slowdown(2e9) == 1.5


def test_a_frequency_that_is_nearly_a_level_is_that_level():
    found = Frequencies(2e9, 1e9, 0.5e9)
    assert found.level_hz(1.507e9, "here") == 1.5e9  # 0.47 %
    assert found.level_hz(0.996e9, "here") == 1e9
    with pytest.raises(PlatformError) as error:
        found.level_hz(1.508e9, "here")  # 0.53 %
    assert str(error.value) == "here: no level of 1.508 GHz. Levels: 2, 1.5, 1 GHz."
    with pytest.raises(PlatformError, match="no level of nan GHz"):
        found.level_hz(math.nan, "here")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((1e9, 2e9, 1e9), "frequencies 1 to 2 GHz, step 1: not a range. Give 0 < min_ghz <= max_ghz."),
        ((1e9, 0.0, 1e9), "frequencies 1 to 0 GHz, step 1: not a range. Give 0 < min_ghz <= max_ghz."),
        ((math.inf, 1e9, 1e9), "frequencies inf to 1 GHz, step 1: not a range. Give 0 < min_ghz <= max_ghz."),
        ((2e9, 1e9, 0.0), "frequencies 2 to 1 GHz, step 0: the step is not positive. Give a positive one."),
        ((2e9, 1e9, math.inf), "frequencies 2 to 1 GHz, step inf: the step is not positive. Give a positive one."),
        ((2.002e9, 1e9, 1e6), "frequencies 2.002 to 1 GHz, step 0.001: more than 1000 levels. Give a larger step."),
        ((2e9, 1e9, 1e9, -1.0), "frequencies 2 to 1 GHz, step 1: dynamic_exponent is -1.0. Give 0 or more, such as 3."),
        (
            (2e9, 1e9, 1e9, math.inf),
            "frequencies 2 to 1 GHz, step 1: dynamic_exponent is inf. Give 0 or more, such as 3.",
        ),
    ],
)
def test_what_is_no_set_of_levels_is_refused(arguments, said):
    with pytest.raises(PlatformError) as error:
        Frequencies(*arguments)
    assert str(error.value) == said


def test_a_thousand_steps_are_enough_and_allowed():
    assert len(Frequencies(2e9, 1e9, 1e6).levels_hz) == 1001


def test_frequencies_are_shown_in_ghz_to_four_digits():
    assert (ghz(2.5e9), ghz(1.23456e9)) == ("2.5", "1.235")


def test_the_speeds_of_the_known_node_types_are_those_of_the_grid_papers():
    assert known_speeds_flops() == [35e9, 40e9, 45e9, 50e9, 55e9, 60e9, 70e9]
