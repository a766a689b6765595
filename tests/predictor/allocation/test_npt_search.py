"""Searches for configurations, checked by hand, against brute force, and against each other."""

import functools

import numpy as np
import pytest

from platforms.errors import UserError
from predictor.allocation.configuration import Configuration, Limits
from predictor.allocation.objectives import TIME, Objective, cost, energy
from predictor.allocation.search import branch_and_bound, cheapest_within, exhaustive, windowed_min
from predictor.allocation.space import Space
from predictor.base import OutOfRange

# (0,0,1,1) (0,0,2,1) (1,1,0,0) (1,1,1,1) (1,1,2,1)
SMALL = Space(Limits((1, 2), (1, 1)))


def table(space, time_s):
    """Return the table of T_i by (i, M_i, P) of a function."""
    values = np.full(space.table_shape, np.nan)
    for i, M, P in np.ndindex(values.shape):
        if 0 < M <= P:
            values[i, M, P] = time_s(i, M, P)
    values[:, 0] = -np.inf
    return values


def test_objectives_by_hand():
    times_s = np.array([10.0, 6.0, 8.0, 5.0, 4.6])
    assert str(exhaustive(SMALL, times_s).configuration) == "(1,1,2,1)"
    # 200 W and 60 W: 600, 720, 1600, 1300, 1472 J.
    choice = exhaustive(SMALL, times_s, energy([200, 60]))
    assert (str(choice.configuration), choice.time_s, choice.value) == ("(0,0,1,1)", 10, 600)
    # 1 and 0.9 per hour, at 3600 times these: 9, 10.8, 8, 9.5, 12.88.
    choice = exhaustive(SMALL, 3600 * times_s, cost([1, 0.9]))
    assert (str(choice.configuration), choice.value) == ("(1,1,0,0)", pytest.approx(8))


def test_the_cheapest_within_ten_per_cent_of_the_best_time():
    times_s = np.array([10.0, 6.0, 8.0, 5.0, 4.6])
    # At most 5.06 s: (1,1,1,1) with 1300 J and (1,1,2,1) with 1472.
    find = functools.partial(exhaustive, SMALL, times_s)
    assert str(cheapest_within(find, energy([200, 60])).configuration) == "(1,1,1,1)"
    assert str(cheapest_within(find, energy([200, 60]), slack=0.05).configuration) == "(1,1,2,1)"
    assert str(cheapest_within(find, energy([200, 60]), slack=0.31).configuration) == "(0,0,2,1)"
    with pytest.raises(UserError, match="not a share"):
        cheapest_within(find, energy([200, 60]), slack=-0.1)


def test_of_equal_times_the_fewest_processes_then_the_first():
    assert str(exhaustive(SMALL, np.ones(5)).configuration) == "(0,0,1,1)"
    assert str(exhaustive(SMALL, np.array([2.0, 1, 2, 1, 1])).configuration) == "(0,0,2,1)"


def test_of_equal_times_and_processes_the_quick_sub_cluster_has_the_most():
    # Three processes on either: T = max T_i says 5 for both; 2 x 3 + 1 x 5 and 1 x 3 + 2 x 5 s of processes.
    space = Space(Limits((2, 2), (1, 1)), lambda P: P == 3)
    times = table(space, lambda i, M, P: 5 if i else 3)
    assert str(exhaustive(space, space.gather(times)).configuration) == "(1,1,2,1)"
    assert str(exhaustive(space, space.gather(times), table_s=times).configuration) == "(2,1,1,1)"
    assert str(branch_and_bound(space, times).configuration) == "(2,1,1,1)"


def test_negative_times_are_taken_as_they_are_and_flagged():
    choice = exhaustive(SMALL, np.array([1.0, 2, -3, 4, np.nan]))
    assert (str(choice.configuration), choice.time_s, choice.examined) == ("(1,1,0,0)", -3, 4)
    assert "wrecked" in choice.flags[0] and choice.flags[1] == "1 of 5 configurations have no model"
    assert exhaustive(SMALL, np.arange(1.0, 6)).flags == ()
    # Within ten per cent of -10 s is up to -9 s: (0,0,1,1) at price 0, and (1,1,0,0) at a negative one.
    find = functools.partial(exhaustive, SMALL, np.array([-10.0, 0, -9.5, -8, 1]))
    assert str(cheapest_within(find, cost([9, 0])).configuration) == "(1,1,0,0)"


def test_where_nothing_is_to_be_found_it_says_so():
    with pytest.raises(OutOfRange, match="no configuration has a model"):
        exhaustive(SMALL, np.full(5, np.nan))
    with pytest.raises(OutOfRange, match=r"takes at most 0\.5 s"):
        exhaustive(SMALL, np.ones(5), time_limit_s=0.5)
    for space in (Space(Limits((0, 0), (1, 1))), Space(Limits((1, 2), (1, 1)), lambda P: P > 3)):
        with pytest.raises(OutOfRange, match="no configuration is within the limits"):
            exhaustive(space, np.zeros(0))
        with pytest.raises(OutOfRange, match="no configuration is within the limits"):
            branch_and_bound(space, table(space, lambda i, M, P: 1))
    with pytest.raises(OutOfRange, match="no configuration has a model"):
        branch_and_bound(SMALL, table(SMALL, lambda i, M, P: np.nan))
    with pytest.raises(UserError, match="1 values for 2 sub-clusters"):
        exhaustive(SMALL, np.ones(5), energy([3]))
    with pytest.raises(UserError, match="below zero"):
        energy([3, -1])


def random_case(random):
    """Return a space, a table with ties, gaps and perhaps negative times, and an objective."""
    depth = int(random.integers(1, 5))
    limits = Limits(tuple(random.integers(0, 5, depth)), tuple(random.integers(0, 4, depth)))
    allowed = [None, lambda P: P & (P - 1) == 0, lambda P: P % 2 == 0][random.integers(3)]
    space = Space(limits, allowed)
    values = random.normal(3, 2, space.table_shape) * random.lognormal(0, 1)
    if random.random() < 0.5:
        values = np.round(values)
    if random.random() < 0.5:
        values = abs(values)
    values[random.random(values.shape) < random.choice([0, 0.1, 0.5])] = np.nan
    values[:, 0] = -np.inf
    rates = tuple(np.round(random.random(depth) * 3, random.integers(3)))
    of_its_own = Objective("own", "", rates, lambda T, R: T + 0.3 * R**2)
    idle = Objective("idle", "", rates, lambda T, R: np.maximum(T, 1.0) - R)  # falls as nodes are used
    objective = [TIME, energy(rates), cost(rates), of_its_own, idle][random.integers(5)]
    return space, values, objective


def brute_force(space, values, objective, limit_s):
    """Return the choice, found in plain Python."""
    best = None
    for row in range(len(space)):
        configuration = space.configuration(row)
        shares, P = configuration.shares, configuration.total
        T_i = {i: values[i, shares[i][1], P] for i in configuration.used}
        T = np.nan if any(np.isnan(t) for t in T_i.values()) else max(T_i.values())
        if np.isnan(T) or limit_s < T:
            continue
        R = 0.0
        for i, (pes, _) in enumerate(shares):
            R += (objective.rates or [0] * len(shares))[i] * pes
        busy = 0.0
        for i, (pes, M) in enumerate(shares):
            busy += pes * M * T_i[i] if pes else 0
        key = (float(objective.value(T, R)), P, busy, configuration)
        if best is None or key < best[0]:
            best = key, configuration, T
    return best


@pytest.mark.parametrize("seed", range(8))
def test_both_searches_find_what_brute_force_finds(seed):
    random = np.random.default_rng(seed)
    for _ in range(40):
        space, values, objective = random_case(random)
        limit_s = float(random.choice([np.inf, 2.0]))
        expected = brute_force(space, values, objective, limit_s)
        ways = (
            functools.partial(exhaustive, space, space.gather(values), objective, table_s=values),
            functools.partial(branch_and_bound, space, values, objective),
        )
        for find in ways:
            if expected is None:
                with pytest.raises(OutOfRange):
                    find(time_limit_s=limit_s)
                continue
            choice = find(time_limit_s=limit_s)
            key, configuration, time_s = expected
            assert (choice.configuration, choice.time_s, choice.value) == (configuration, time_s, key[0])


def test_branch_and_bound_goes_where_listing_cannot():
    # 101^5, ten thousand million configurations.  Compute 100 (i + 1) / P per process, and 0.01 P to talk: the quick
    # sub-cluster alone, P = 100, T = 2.
    limits = Limits((25,) * 5, (4,) * 5)
    space = Space(limits)
    times = table(space, lambda i, M, P: 100 * (i + 1) / P + 0.01 * P)
    choice = branch_and_bound(space, times)
    assert choice.configuration.used == (0,) and choice.configuration.total == 100
    assert choice.time_s == pytest.approx(2)
    assert choice.examined < 1e6
    assert choice.configuration == Configuration.parse("25,4,0,0,0,0,0,0,0,0")


def test_the_least_of_a_window_by_hand():
    values = np.array([5.0, 3, 4, 1, 2])
    assert windowed_min(values, 1).tolist() == [5, 3, 4, 1, 2]
    assert windowed_min(values, 2).tolist() == [3, 3, 1, 1, 2]
    assert windowed_min(values, 3).tolist() == [3, 1, 1, 1, 2]
    assert windowed_min(values, 99).tolist() == [1, 1, 1, 1, 2]
