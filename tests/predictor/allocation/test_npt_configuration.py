"""Configurations and spaces of Ichikawa, Takahashi and Kawai, counted as in their tables."""

import itertools

import numpy as np
import pytest

from platforms.errors import UserError
from predictor.allocation.configuration import Configuration, Limits, remaining
from predictor.allocation.space import Space

TABLE_VI = Limits((4, 4, 4), (2, 2, 1))
TABLE_VII = Limits((8, 8, 8), (2, 2, 1))


def power_of_two(P):
    """Return whether P is allowed in Table VII: FFTE runs on powers of two (section 5.4)."""
    return P in {1, 2, 4, 8, 16, 32, 64}


def test_the_spaces_have_as_many_configurations_as_tables_vi_and_vii_say():
    assert len(Space(TABLE_VI)) == 404
    assert len(Space(TABLE_VII, power_of_two)) == 285
    assert Space(TABLE_VI).count == 404  # without listing them
    assert Space(TABLE_VII, power_of_two).count == 285
    assert Space(Limits((100,) * 8, (1,) * 8)).count == 101**8 - 1


@pytest.mark.parametrize("allowed", [None, power_of_two, lambda P: P % 3 == 0])
def test_a_space_holds_what_loops_over_everything_find_in_order(allowed):
    limits = Limits((3, 0, 2), (2, 4, 3))
    found = []
    ranges = [range(n + 1) for pair in zip(limits.pes, limits.processes, strict=True) for n in pair]
    for numbers in itertools.product(*ranges):
        pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
        total = sum(pes * processes for pes, processes in pairs)
        if all((p == 0) == (m == 0) for p, m in pairs) and total and (allowed is None or allowed(total)):
            found.append(numbers)
    space = Space(limits, allowed)
    listed = np.stack((space.pes, space.processes), axis=2).reshape(len(space), -1)
    assert [tuple(row) for row in listed.tolist()] == sorted(found)
    assert space.ranks == sorted(set(space.total.tolist()))
    assert space.total.tolist() == [Configuration.parse(str(row)).total for row in map(tuple, listed.tolist())]


def test_rows_of_configurations_are_found_again():
    space = Space(TABLE_VII, power_of_two)
    rows = [0, 17, 284]
    there = [space.configuration(row) for row in rows]
    elsewhere = [Configuration.parse("1,1,1,1,1,1"), Configuration.parse("(0,0,9,1,0,0)"), Configuration.parse("1,1")]
    assert space.rows([*there, *elsewhere]).tolist() == [*rows, -1, -1, -1]
    everything = Space(TABLE_VI)
    assert (everything.rows([everything.configuration(row) for row in range(404)]) == np.arange(404)).all()


def test_times_are_the_largest_of_the_sub_clusters_in_use():
    space = Space(Limits((1, 1), (1, 2)))
    table = np.full(space.table_shape, np.nan)
    table[:, 0] = -np.inf
    table[0, 1, 1], table[0, 1, 2], table[0, 1, 3] = 10, 6, 5
    table[1, 1, 1], table[1, 1, 2] = 12, -1
    times = {str(space.configuration(row)): time for row, time in enumerate(space.gather(table).tolist())}
    assert times.pop("(0,0,1,2)") != times.pop("(1,1,1,2)") != 0  # NaN: T_2 with two processes has no model
    assert times == {"(0,0,1,1)": 12, "(1,1,0,0)": 10, "(1,1,1,1)": 6}


def test_a_configuration_is_written_as_it_is_read():
    configuration = Configuration.parse(" (4, 1,4,2,0,0)")
    assert str(configuration) == "(4,1,4,2,0,0)"
    assert (configuration.total, configuration.nodes, configuration.used) == (12, 8, (0, 1))
    assert Configuration.parse("4,1,4,2,0,0") == configuration == Configuration(((4, 1), (4, 2), (0, 0)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not pairs of whole numbers"),
        ("(4,1,4)", "not pairs"),
        ("4,1,4,-2", "not pairs"),
        ("4,1,x,2", "not pairs"),
        ("(4,0)", "PEs without processes"),
        ("(0,1)", "PEs without processes"),
        ("0,0,0,0", "uses nothing"),
    ],
)
def test_what_is_no_configuration_is_refused(text, said):
    with pytest.raises(UserError, match=said):
        Configuration.parse(text)


def test_what_remains_of_the_cluster_is_searched_again():
    left = remaining(TABLE_VI, Configuration.parse("4,2,3,1,0,0"))
    assert left == Limits((0, 1, 4), (2, 2, 1))
    # By hand: 3 ways to use one Xeon (none, M = 1, M = 2), 5 for four Celerons, less the empty one.
    assert len(Space(left)) == 3 * 5 - 1
    assert len(Space(remaining(left, Configuration.parse("0,0,1,1,4,1")))) == 0
    with pytest.raises(UserError, match="more than the limits"):
        remaining(left, Configuration.parse("1,1,0,0,0,0"))


@pytest.mark.parametrize(
    ("pes", "processes", "said"),
    [((4,), (1, 2), "1 numbers of PEs and 2"), ((), (), "0 numbers"), ((-1,), (1,), "below")],
)
def test_bad_limits_are_refused(pes, processes, said):
    with pytest.raises(UserError, match=said):
        Limits(pes, processes)


def test_a_space_too_large_to_list_says_what_to_use_instead():
    space = Space(Limits((100,) * 5, (4,) * 5))
    with pytest.raises(UserError, match="Use branch and bound"):
        len(space)


def test_a_configuration_counts_from_zero():
    with pytest.raises(UserError, match="a number below zero"):
        Configuration(((-1, 1),))
