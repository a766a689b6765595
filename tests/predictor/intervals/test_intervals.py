"""Intervals of predictions: features, calibration, and the reasons why there is none."""

import math
from dataclasses import replace

import numpy as np
import pytest

from apps.programs.problem import problem
from apps.recording.events import EVENT, Recording, Tag
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.answers.answers import Answer
from predictor.answers.text import answer_lines
from predictor.base import Cost, Evidence, EvidenceRequest, Interval, Prediction
from predictor.intervals import interval as module
from predictor.intervals.calibration import Calibration
from predictor.intervals.cases import (
    CASE_COLUMNS,
    CASES_FILE,
    MEASURED,
    SURROUNDINGS,
    CalibrationCase,
    Features,
    by_predictor,
    features_of,
    known_cases,
    read_cases,
)
from predictor.intervals.interval import bounds, calibration_of, calibration_or_none, with_interval


@pytest.fixture
def target():
    platform = materialise(named_grid("grid4x2"))
    return Target(problem("cg", "S"), platform, block(platform, 8))


def drawn(seed, *, grids=40, each=5, apps=("a", "b", "c"), sigma=lambda share: 0.4 * (1 - share)):
    """Cases whose errors are normal about the program's own mean, with a deviation that the compute share decides."""
    draw = np.random.default_rng(seed)
    cases = []
    for grid in range(grids):
        for number in range(each):
            app, share = apps[(grid + number) % len(apps)], float(draw.uniform(0.05, 0.95))
            error = float(draw.normal(0.3, sigma(share)))
            cases.append(CalibrationCase("p", f"grid-{grid}", Features(app, share, 2.0, None), error))
    return cases


def inside(calibration, cases):
    expected = [calibration.expected(case.features) for case in cases]
    return np.mean([one.low <= case.log_error <= one.high for one, case in zip(expected, cases, strict=True)])


def test_intervals_of_fresh_draws_cover_nine_of_ten():
    known, others = [], []
    for seed in range(1, 5):
        calibration, fresh = Calibration(drawn(seed)), drawn(seed + 100)
        known.append(inside(calibration, fresh))
        others.append(
            inside(calibration, [replace(case, features=replace(case.features, app="other")) for case in fresh])
        )
    assert 0.87 <= np.mean(known) <= 0.94  # of 800 cases; one calibration deviates by 2 or 3 points
    assert 0.87 <= np.mean(others) <= 0.94


def test_they_are_wide_where_the_errors_are_and_about_their_median():
    # By hand: 2 x 1.645 standard deviations, 0.4 (1 - share), hold 90 % of a normal distribution.
    calibration = Calibration(drawn(1, grids=80))
    for share in (0.2, 0.8):
        found = calibration.expected(Features("a", share, 2.0, None))
        assert found.high - found.low == pytest.approx(2 * 1.645 * 0.4 * (1 - share), rel=0.3)
        assert (found.low + found.high) / 2 == pytest.approx(0.3, abs=0.1)


def test_a_program_without_cases_gets_a_wider_interval_where_programs_differ():
    apps = [f"app{number}" for number in range(8)]
    cases = [
        replace(case, log_error=case.log_error + 0.5 * apps.index(case.features.app))
        for case in drawn(3, apps=apps, sigma=lambda share: 0.05)
    ]
    calibration = Calibration(cases)
    known, other = (calibration.expected(Features(app, 0.5, 2.0, None)) for app in ("app3", "new"))
    assert other.high - other.low > 2 * (known.high - known.low)


def test_cases_of_a_kind_of_grids_are_left_out_together():
    # Two kinds of grids whose errors differ by 1: a grid of a third kind may be as far away, one of these is not.
    def case(number):
        kind, error = 11 + number % 2, 0.01 * math.sin(number) + number % 2
        return CalibrationCase("p", f"random-{kind}-{number}", Features("a", 0.5, 2.0, None), error)

    cases = [case(number) for number in range(60)]
    alone = [replace(one, grid=f"site{number}") for number, one in enumerate(cases)]
    assert {one.kind for one in cases} == {"random-11", "random-12"}
    assert replace(cases[0], grid="grid4x2 metro").kind == replace(cases[0], grid="grid4x4 metro").kind == "metro"
    assert Calibration(cases).stretch(known=True) > 2 * Calibration(alone).stretch(known=True)


def test_a_feature_that_is_unknown_is_no_obstacle():
    found = Calibration(drawn(1)).expected(Features("a", None, None, None))
    assert math.isfinite(found.low) and found.low < 0.3 < found.high


def test_features_are_the_predictions_own_or_those_of_the_largest_run(target, record_of):
    half = Target(target.problem, target.platform, target.placement[:4])
    few = Target(target.problem, target.platform, target.placement[:2])
    evidence = [
        Evidence(
            EvidenceRequest("run", half), record_of(half, 2.0, 1.0, compute_s=(0.5, 1.0, 0.5, 0.5)), "half", Cost()
        ),
        Evidence(EvidenceRequest("run", few), record_of(few, 3.0, 1.0, compute_s=(3.0, 3.0)), "few", Cost()),
    ]
    found = features_of(Prediction(1.0), target, evidence)
    assert (found.compute_share, found.ratio) == (0.5, 2.0)  # 1 s of 2 s; 8 ranks of 4
    assert features_of(Prediction(1.0, evidence=("few",)), target, evidence).ratio == 4.0
    assert features_of(Prediction(1.0, {"compute_s": 0.25}), target, evidence).compute_share == 0.25
    assert features_of(Prediction(1.0), target, []) == Features("cg", None, None, None)


def test_the_interval_is_the_time_times_the_expected_errors(target, monkeypatch):
    same = [CalibrationCase("p", f"g{number}", Features("cg", None, None, None), math.log(2.0)) for number in range(60)]
    monkeypatch.setattr(module, "known_cases", lambda predictor: same if predictor == "p" else ())
    module.calibration_of.cache_clear()
    made = with_interval(Prediction(5.0), "p", target, []).interval
    module.calibration_of.cache_clear()
    # The truth was always twice it; no end of an interval is nearer to its middle than 0.01 %.
    assert (made.low_s, made.high_s) == (pytest.approx(9.999, rel=1e-6), pytest.approx(10.001, rel=1e-6))
    assert (made.level, made.cases, made.made_of) == (0.9, 60, ("cg",))


@pytest.mark.parametrize(
    ("predictor", "time_s", "ranks", "reason"),
    [
        ("mine", 1.0, 8, "no calibration of mine"),
        ("fit:nobody", 1.0, 8, "no calibration of fit:nobody"),
        ("fit:log", -1.0, 8, "the predicted time is not positive"),
        ("hcf", 1.0, 16, "calibrated with one rank on a node, not 16 ranks on 8 nodes"),
    ],
)
def test_where_nothing_is_calibrated_the_reason_is_told(target, predictor, time_s, ranks, reason):
    placed = tuple(host for host in target.placement for _ in range(ranks // 8))
    made = with_interval(Prediction(time_s), predictor, replace(target, placement=placed), [])
    assert (made.interval, made.no_interval) == (None, reason)


def test_evidence_of_a_machine_has_the_interval_of_measured_cases(target, record_of):
    few = Target(target.problem, target.platform, target.placement[:4])
    run = replace(record_of(few, 2.0, 1.0, compute_s=(0.5,) * 4), source="measurement")
    evidence = [Evidence(EvidenceRequest("run", few), run, "run", Cost())]
    made = with_interval(Prediction(1.0), "structural", target, evidence).interval
    assert "measured on emulated grids" in made.made_of
    assert made.low_s < 1 < made.high_s and made.width > 1.02  # of simulated times it is below 1 %
    assert with_interval(Prediction(1.0), "fit:log", target, evidence).no_interval == (
        "calibrated with simulated runs, not with measured ones"
    )
    two = replace(target, placement=tuple(host for host in target.placement for _ in range(2)))
    assert "one rank on a node" in with_interval(Prediction(1.0), "structural", two, evidence).no_interval


@pytest.mark.parametrize("predictor", ["structural", "dpgraph", "simulate", "hcf", "hcf:constant"])
def test_intervals_of_measured_runs_hold_on_grids_that_are_left_out(predictor):
    cases = [case for case in known_cases(predictor) if case.features.surroundings == MEASURED]
    held = []
    for grid in {case.grid for case in cases}:
        others = Calibration(tuple(case for case in cases if case.grid != grid))
        ends = [(bounds(case.features, others), case.log_error) for case in cases if case.grid == grid]
        held += [low <= error <= high for (low, high), error in ends]
    assert 0.85 <= np.mean(held) <= 0.96


def recording(tag=0, **said):
    """A recording of a message with this tag."""
    events = np.zeros(1, EVENT)
    events["tag"] = tag
    return Recording((events,), (np.zeros(0, np.int64),), ((0,),), **said)


@pytest.mark.parametrize(
    "doubtful",
    [
        recording(cautions=("the program's course depends on the time",)),
        recording(asks=("MPI_Get_processor_name",)),
        recording(varies=("time",)),
        recording(measured=True),
        recording(Tag.LOCKED),
    ],
)
def test_a_recording_that_needs_a_caution_gives_no_interval(target, doubtful):
    request = EvidenceRequest("recording", target)
    evidence = [Evidence(request, doubtful, "doubtful", Cost()), Evidence(request, recording(), "sound", Cost())]
    made = with_interval(Prediction(1.0, evidence=("doubtful",)), "dpgraph", target, evidence)
    assert (made.interval, made.no_interval) == (None, "calibrated with recordings that need no caution")
    assert with_interval(Prediction(1.0, evidence=("sound",)), "dpgraph", target, evidence).interval is not None


def test_the_spread_of_measured_computation_widens_the_interval(target):
    request = EvidenceRequest("recording", target)
    evidence = [Evidence(request, replace(recording(), spread_rel=0.05), "it", Cost())]
    wide = with_interval(Prediction(1.0, {"compute_s": 0.5}), "dpgraph", target, evidence).interval
    # By hand: sqrt(2) x 5 % of the half that is computation, to either side; dpgraph's own errors are below 0.2 %.
    assert (wide.low_s, wide.high_s) == (pytest.approx(0.96464, abs=2e-3), pytest.approx(1.03536, abs=2e-3))
    assert "computation timed within 5 %" in wide.made_of


def test_the_interval_of_measured_computation_holds_what_another_run_may_differ_by(target):
    request = EvidenceRequest("recording", target)
    evidence = [Evidence(request, replace(recording(), spread_rel=0.001), "it", Cost())]
    narrow = with_interval(Prediction(1.0, {"compute_s": 1.0}), "dpgraph", target, evidence).interval
    # By hand: sqrt(2) x 3 %, although the runs that were timed agree to 0.1 %.
    assert narrow.high_s == pytest.approx(1.0424, abs=3e-3)


def test_the_ends_of_a_prediction_are_those_of_its_interval_else_the_model_s_own_widened_alike(target):
    request = EvidenceRequest("recording", target)
    evidence = [Evidence(request, replace(recording(), spread_rel=0.1), "it", Cost())]
    own = Prediction(1.0, {"compute_s": 0.5}, low_s=0.5, high_s=2.0)
    made = with_interval(own, "dpgraph", target, evidence)
    assert (made.low_s, made.high_s) == (made.interval.low_s, made.interval.high_s)
    without = with_interval(replace(own, no_interval="none"), "dpgraph", target, evidence)
    # By hand: sqrt(2) x 10 % of the half that is computation.
    assert (without.low_s, without.high_s) == (
        pytest.approx(0.5 * 0.92929, abs=1e-4),
        pytest.approx(2 * 1.07071, abs=1e-4),
    )


def test_an_extrapolation_beyond_the_calibrated_ones_has_none(target, record_of):
    few = Target(target.problem, target.platform, target.placement[:1])
    platform = materialise(named_grid("grid3x16"))
    wide = Target(target.problem, platform, block(platform, 48))
    evidence = [Evidence(EvidenceRequest("run", few), record_of(few, 3.0, 1.0), "few", Cost())]
    made = with_interval(Prediction(1.0), "hcf", wide, evidence)
    assert made.no_interval.startswith("48 times the ranks of the evidence, calibrated up to")


def test_the_line_says_the_interval_and_its_making(target):
    interval = Interval(8.0, 12.5, 0.9, 200, ("cg", "compute share 30 %"))
    said = " ".join(answer_lines(Answer("p", target, Prediction(10.0, interval=interval), None, (), 0.0)))
    assert "true time 8.0 to 12.5 s (90 % interval)" in " ".join(said.split())  # known to two digits
    assert "interval is from the errors of 200 cases weighted by likeness: cg, compute share 30 %" in " ".join(
        said.split()
    )
    biased = answer_lines(Answer("p", target, Prediction(20.0, interval=interval), None, (), 0.0))
    assert biased[0].endswith("8.0 to 12.5 s")
    assert "own time is 20 s, too high in cases like this one" in " ".join(" ".join(biased).split())


@pytest.mark.parametrize(
    ("low_s", "high_s", "headline", "range_"),
    [
        (26.9, 27.5, "27.2 s", "true time 26.90 to 27.50 s"),
        (27.193, 27.228, "27.20 s", "true time 27.193 to 27.228 s"),
        (27.2, 27.2000001, "27.2000 s", "true time 27.2000 to 27.2001 s"),
        (20.0, 35.0, "27 s", "true time 20 to 35 s"),
        (27.213, 27.228, "27.213 to 27.228 s", "the model's own time is 27.20 s, too low"),
    ],
)
def test_a_time_is_printed_with_the_digits_to_which_it_is_known(target, low_s, high_s, headline, range_):
    interval = Interval(low_s, high_s, 0.9, 200, ("cg",))
    first, second, *_ = answer_lines(Answer("p", target, Prediction(27.2, interval=interval), None, (), 0.0))
    assert first.endswith(f"p: {headline}") and second.strip().startswith(range_)


def test_the_cases_of_the_project_can_be_read():
    cases = by_predictor(read_cases(CASES_FILE))
    assert {name: list(known_cases(name)) for name in cases} == cases and known_cases("nobody") == ()
    assert calibration_of("structural") is not None and calibration_of("hcf") is not None
    for name in ("structural", "dpgraph"):
        assert all(calibration_of(name, surroundings) is not None for surroundings in SURROUNDINGS)
    # It reads every route, so that a generated grid is a platform file like others, and no path is unlike the others.
    assert calibration_of("dpgraph:known", "grid") is not None and calibration_of("dpgraph:known", "unlike") is None


def test_surroundings_are_calibrated_by_their_own_cases():
    # By hand: on generated grids the truth is the prediction, on platform files twice as long, and where several ranks
    # share a node there are too few cases.
    def cases(surroundings, error, count=60):
        features = Features("cg", None, None, None, surroundings)
        return [CalibrationCase("p", f"{surroundings}-{number}", features, error) for number in range(count)]

    known = cases("grid", 0.0) + cases("file", math.log(2.0)) + cases("cores", 0.0, count=35)
    asked = Features("cg", None, None, None)
    on_grid, on_file = (calibration_or_none(known, name).expected(asked) for name in ("grid", "file"))
    assert (on_grid.low, on_file.low) == (pytest.approx(0.0, abs=1e-6), pytest.approx(math.log(2.0), rel=1e-6))
    assert calibration_or_none(known, "cores") is None and calibration_or_none(known, "unlike") is None
    # Without a case from any file, those from grids stand for files too.
    assert calibration_or_none(cases("grid", 0.0), "unlike") is not None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,b\n1,2\n", "no column predictor"),
        (",".join(CASE_COLUMNS) + "\np,cg,grid,g,0.5,2,,oops\n", "could not convert"),
        (",".join(CASE_COLUMNS) + "\np,cg,grid,g,0.5,nan,,0.1\n", "ratio is nan"),
        (",".join(CASE_COLUMNS) + "\np,cg,grid,g,0.5,0,,0.1\n", "ratio is 0"),
        (",".join(CASE_COLUMNS) + "\np,cg,grid,g,0.5,2,,\n", "need values"),
    ],
)
def test_a_file_that_holds_no_cases_is_refused(tmp_path, text, problem):
    path = tmp_path / "cases.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=problem):
        read_cases(path)
