"""The validity map: the range that a prediction gets, at edges and outside the map, and its use."""

import math
from itertools import pairwise

import pytest

from apps.programs.problem import Problem
from apps.results.cautions import merged
from apps.spec.target import Target
from platforms.model.platform import Cluster, Host, Platform
from predictor.answers import regime
from predictor.answers.answers import Answer
from predictor.answers.regime import RegimeRow, error_range, holds_from, read_map, true_times, with_error_range
from predictor.answers.text import answer_lines
from predictor.base import ErrorRange, Prediction
from predictor.predict import answer_to_json

ROWS = (
    RegimeRow(0.1, 0.5, ErrorRange(100.0, 300.0, 20), (0.3, 0.7), (8, 48)),
    RegimeRow(0.5, 0.9, ErrorRange(-20.0, 15.0, 19), (0.6, 0.95), (8, 48)),
    RegimeRow(0.9, 1.0, ErrorRange(-1.0, 5.0, 30), (0.9, 1.0), (8, 32)),
)
MAP = {
    ("hcf", "cg"): ROWS,
    ("hcf:printed", "cg"): (RegimeRow(0.1, 1.0, ErrorRange(57.0, 75.0, 20), (0.1, 1.0), (8, 48)),),
}


@pytest.fixture
def small_map(monkeypatch):
    """Use the hand-made MAP in place of the project's map."""
    monkeypatch.setattr(regime, "known_map", lambda: MAP)


def target(nranks=8, app="cg", *, cores=1):
    hosts = tuple(Host(f"c1-{i}", 1e9, cores) for i in range(nranks // cores))
    platform = Platform("one", "/nowhere.xml", "0", (Cluster("c1", hosts),))
    return Target(Problem(app), platform, tuple(host.name for host in hosts for _ in range(cores)))


def said_of(answer):
    """The lines about an answer as one text."""
    return " ".join(" ".join(answer_lines(answer)).split())


def saying(share, time_s=10.0, **more):
    return Prediction(time_s, {"compute_s": share * time_s, "comm_s": (1 - share) * time_s}, **more)


@pytest.mark.parametrize(
    ("share", "found"),
    [(0.1, 0), (0.3, 0), (0.5, 1), (math.nextafter(0.5, 0), 0), (0.9, 2), (1.0, 2)],
)
def test_a_range_holds_its_lower_edge_and_the_last_one_also_a_share_of_one(share, found):
    assert error_range("hcf", "cg", share, of=MAP) == ROWS[found].error


@pytest.mark.parametrize(
    ("predictor", "app", "share", "ranks"),
    [("hcf", "cg", 0.09, None), ("hcf", "cg", None, None), ("hcf", "mg", 0.3, None), ("npt", "cg", 0.3, None),
     ("hcf", "cg", 0.95, 48), ("hcf", "cg", 0.3, 7), ("hcf", "cg", math.nan, None)],
)  # fmt: skip
def test_outside_of_the_map_there_is_no_range(predictor, app, share, ranks):
    assert error_range(predictor, app, share, ranks=ranks, of=MAP) is None


def test_a_predictor_holds_from_where_all_further_ranges_stay_within_the_limit():
    # By hand from ROWS: 5 % in the last range alone, 20 % in the last two, 300 % in all, 4 % in none.
    found = [holds_from("hcf", "cg", error_pct=limit, of=MAP) for limit in (5, 20, 300, 4)]
    assert found == [0.9, 0.5, 0.1, math.inf]
    assert holds_from("hcf:printed", "cg", of=MAP) == math.inf
    assert holds_from("hcf", "lu", of=MAP) is None


def test_the_true_time_is_the_predicted_one_over_one_plus_the_error():
    # By hand: 10 s that are 25 % too much are 8 s, 20 % too little 12.5 s.
    assert true_times(10.0, ErrorRange(-20.0, 25.0, 19)) == (8.0, 12.5)


def test_a_prediction_gets_range_and_interval(small_map):
    made = with_error_range(saying(0.3), "hcf", target())
    assert made.error_range == ROWS[0].error
    # By hand: 10 s / (1 + 300 %) and 10 s / (1 + 100 %): below the prediction, which is always too high there.
    assert (made.low_s, made.high_s) == (2.5, 5.0)
    assert made.flags == () and made.no_error_range is None


def test_a_models_own_interval_stays(small_map):
    made = with_error_range(saying(0.3, low_s=9.0, high_s=11.0), "hcf", target())
    assert (made.low_s, made.high_s) == (9.0, 11.0)
    assert made.error_range == ROWS[0].error


@pytest.mark.parametrize(
    ("share", "asked", "flag"),
    [(0.05, target(8), "compute share 5 %: outside the validity map, whose shares go from 10 % up to 100 %"),
     (0.95, target(40), "40 ranks: outside the validity map, whose ranks go from 8 up to 32"),
     (0.95, target(16, cores=2), "16 ranks on 8 nodes: outside the validity map, which has one rank per node")],
)  # fmt: skip
def test_outside_of_the_map_is_a_caution(small_map, share, asked, flag):
    made = with_error_range(saying(share, flags=("first",)), "hcf", asked)
    assert made.flags == ("first", flag)
    assert (made.error_range, made.low_s) == (None, None)


def test_several_cautions_in_one_are_a_sentence(small_map):
    said = [with_error_range(saying(share), "hcf", target(ranks)).flags[0] for share, ranks in ((0.95, 40), (0.3, 60))]
    outside = "40 to 60 ranks: outside the validity map, whose ranks go from 8 up to 32 to 48"
    assert merged(said) == outside


@pytest.mark.parametrize(("predictor", "app"), [("hcf", "ft"), ("npt", "cg")])
def test_without_a_map_nothing_is_flagged_but_it_is_said(small_map, predictor, app):
    made = with_error_range(saying(0.3), predictor, target(app=app))
    assert (made.error_range, made.flags) == (None, ())
    assert made.no_error_range == f"no map of {predictor} on {app}"
    answer = Answer(predictor, target(app=app), made, None, (), 0.0)
    assert f"error not known: no map of {predictor} on {app}" in said_of(answer)


def test_a_prediction_that_does_not_tell_its_computation_has_no_share():
    assert Prediction(1.0, {"T_a_s": 1.0}).compute_share is None
    assert saying(0.25).compute_share == 0.25


def test_the_command_says_range_and_true_time(small_map):
    answer = Answer("hcf", target(), with_error_range(saying(0.3), "hcf", target()), None, (), 0.0)
    assert "hcf: 2.5 to 5.0 s" in said_of(answer)
    assert "in such cases it was 2.00 to 4.00 times the true time" in said_of(answer)
    said = answer_to_json(answer)["prediction"]
    assert said["error_range"] == {"low_pct": 100.0, "high_pct": 300.0, "samples": 20}
    assert (said["low_s"], said["high_s"]) == (2.5, 5.0)


@pytest.mark.parametrize(
    ("low_pct", "high_pct", "headline", "sentence"),
    [
        # By hand, for a prediction of 10 s: 10 / (1 + error).
        (100.0, 300.0, "2.5 to 5.0 s", "10 s, too high here: in such cases it was 2.00 to 4.00 times the"),
        (25.0, 25.0, "8.00 s", "10.0 s, too high here: in such cases it was 1.25 times the true time"),
        (-75.0, -50.0, "20 to 40 s", "10 s, too low here: in such cases it was 0.250 to 0.500 times the"),
        (0.0, 25.0, "10 s", "true time 8.0 to 10.0 s: errors of +0 to +25 % are usual at this compute share"),
        (-20.0, 0.0, "10 s", "true time 10.0 to 12.5 s: errors of -20 to +0 % are usual at this compute share"),
        (-20.0, 25.0, "10 s", "true time 8.0 to 12.5 s: errors of -20 to +25 % are usual at this compute share"),
    ],
)  # fmt: skip
def test_a_time_outside_of_its_range_is_said_to_be_so(monkeypatch, low_pct, high_pct, headline, sentence):
    row = RegimeRow(0.0, 1.0, ErrorRange(low_pct, high_pct, 20), (0.0, 1.0), (8, 48))
    monkeypatch.setattr(regime, "known_map", lambda: {("hcf", "cg"): (row,)})
    made = with_error_range(saying(0.3), "hcf", target())
    answer = Answer("hcf", target(), made, None, (), 0.0)
    assert answer_lines(answer)[0].partition("hcf: ")[2] == headline
    assert sentence in said_of(answer)
    assert made.low_s is not None and made.high_s is not None
    assert ("own time" in said_of(answer)) is not (made.low_s <= made.time_s <= made.high_s)


@pytest.mark.parametrize("key", sorted(regime.known_map()))
def test_no_time_stands_silently_outside_of_the_range_of_the_project_s_map(key):
    for row in regime.known_map()[key]:
        asked = target(row.ranks[0], key[1])
        made = with_error_range(saying((row.share_from + row.share_to) / 2), key[0], asked)
        assert made.error_range is not None and made.low_s is not None and made.high_s is not None
        said = said_of(Answer(key[0], asked, made, None, (), 0.0))
        inside = made.low_s <= made.time_s <= made.high_s
        assert ("are usual at this compute share" in said) is inside
        assert ("too high here" in said) is (made.time_s > made.high_s)
        assert ("too low here" in said) is (made.time_s < made.low_s)


def test_rows_are_read_in_the_order_of_their_shares():
    def row(share_from, share_to):
        return {
            "predictor": "hcf", "app": "cg", "share_from": share_from, "share_to": share_to, "low_pct": "-5",
            "high_pct": "7.5", "samples": "24", "true_share_low": "0.2", "true_share_high": "0.4", "ranks_low": "4",
            "ranks_high": "48",
        }  # fmt: skip

    made = read_map([row("0.5", "1"), row("0.1", "0.5")])["hcf", "cg"]
    assert [(one.share_from, one.share_to) for one in made] == [(0.1, 0.5), (0.5, 1.0)]
    assert made[0] == RegimeRow(0.1, 0.5, ErrorRange(-5.0, 7.5, 24), (0.2, 0.4), (4, 48))


def test_the_map_of_the_project_has_no_gaps_and_reaches_to_computation_alone():
    made = regime.known_map()
    assert {("hcf", "cg"), ("hcf:printed", "mg"), ("hcf:constant", "lu")} <= set(made)
    for key, rows in made.items():
        assert rows[-1].share_to == 1, key
        assert all(a.share_to == b.share_from for a, b in pairwise(rows)), key
        assert all(row.error.low_pct <= row.error.high_pct and row.error.samples >= 19 for row in rows), key


def test_hcf_as_printed_is_never_in_its_regime():
    # By hand, eq. (5) and (6): without any communication 70 / 40 or 55 / 35 of the true time: 57 % too much.
    assert holds_from("hcf:printed", "cg") == math.inf
    assert all(row.error.high_pct > 50 for row in regime.known_map()["hcf:printed", "cg"])
