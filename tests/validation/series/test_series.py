"""The driver of series of runs: cases, their groups, failures, interrupts, and going on from the store.

Runs are faked: n ranks take 16 / n + 1 s, which is 3 s on 8 ranks, 5 s on 4 and 9 s on 2.  The predictor runs 2 ranks
and divides the sum of their times by n, which gives 9 * 2 / 8 = 2.25 s for 8 ranks and 9 * 2 / 4 = 4.5 s for 4.
"""

import pytest

from apps.errors import SimulationError
from apps.options.exit_status import status_of
from apps.programs.problem import problem
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.read.read import materialise
from predictor.base import EvidenceRequest, Prediction
from validation.series.case import Case
from validation.series.output import SeriesOutput
from validation.series.series import Series, carry_out

SLOW = Settings(efficiency="0.5")


class Divide:
    """Divides the time of two ranks."""

    name = "divide"

    def requests(self, targets):
        return [EvidenceRequest("run", Target(one.problem, one.platform, one.placement[:2])) for one in targets]

    def further(self, targets, evidence):
        return []

    def fit(self, evidence):
        self.probe_s = evidence[0].record.time_s
        return self

    def predict(self, target):
        return Prediction(self.probe_s * 2 / target.nranks)


class Rows(SeriesOutput):
    """Keeps what it would show."""

    shown = None

    def show(self, *, finished):
        self.shown = finished, [(row["ranks"], row["mapping"], row["predicted_s"]) for row in self.rows]


@pytest.fixture
def case():
    """``case(ranks, mapping="block", settings=Settings(), **axes)``: a case on the first hosts of grid4x2."""
    platform = materialise(named_grid("grid4x2"))

    def make(ranks, mapping="block", settings=None, **axes):
        hosts = tuple(host.name for host in platform.hosts[:ranks])
        target = Target(problem("cg", "S"), platform, hosts)
        return Case(target, mapping, settings or Settings(), axes)

    return make


@pytest.fixture
def runner(record_of):
    """A runner of fake runs; ``runner.made`` lists their ranks, ``runner.errors`` the errors by number of ranks."""
    with fake_runner(record_of) as one:
        yield one


def fake_runner(record_of, store=None):
    def simulate(spec, *, stop=None):
        ranks = spec.target.nranks
        if ranks in one.errors:
            raise one.errors[ranks]
        one.made.append(ranks)
        return record_of(spec.target, 16 / ranks + 1, 1.0)

    one = Runner(jobs=1, store=store, simulate=simulate, identify=lambda spec: spec.identity())
    one.made, one.errors = [], {}
    return one


def answers(series, runner, cases=None):
    return [(case.target.nranks, case.mapping, result.predicted_s) for case, result in series.outcomes(runner, cases)]


def test_cases_become_rows_with_their_axes(case, runner):
    output = Rows(None, as_json=True)
    with output:
        carry_out(Series((case(8, scale=10), case(4, scale=1)), (Divide(),)), runner, output)
    columns = ("ranks", "predicted_s", "simulated_s", "error_pct", "scale")
    rows = [tuple(row[name] for name in columns) for row in output.rows]
    # By hand: 100 (2.25 - 3) / 3 = -25 % and 100 (4.5 - 5) / 5 = -10 %.
    assert rows == [(8, 2.25, 3.0, -25.0, 10), (4, 4.5, 5.0, pytest.approx(-10.0), 1)]
    assert output.shown == (True, [(8, "block", 2.25), (4, "block", 4.5)]) and output.status == 0
    assert sorted(runner.made) == [2, 4, 8]  # the run of two ranks serves both


def test_groups_come_in_the_order_of_their_first_cases_and_cases_alone_in_theirs(case, runner):
    cases = case(8), case(8, "cyclic"), case(4), case(4, "cyclic")
    by_mapping = [(8, "block", 2.25), (4, "block", 4.5), (8, "cyclic", 2.25), (4, "cyclic", 4.5)]
    assert answers(Series(cases, (Divide(),)), runner) == by_mapping
    alone = answers(Series(cases, (Divide(),), alone=True), runner)
    assert alone == [by_mapping[0], by_mapping[2], by_mapping[1], by_mapping[3]]


def test_the_smallest_target_is_evidence_for_the_others_and_not_for_itself(case, runner):
    series = Series((case(8), case(4), case(2)), (Divide(),))
    assert answers(series, runner) == [(8, "block", 2.25), (4, "block", 4.5), (2, "block", None)]
    assert sorted(runner.made) == [2, 4, 8]
    assert [many for _, _, many in series.plan().refusals] == [1]


def test_some_cases_are_evaluated_as_in_the_whole_series(case, runner):
    cases = case(8), case(2), case(4, "cyclic")
    series = Series(cases, (Divide(),))
    assert answers(series, runner, cases[:1]) == [(8, "block", 2.25)]
    assert sorted(runner.made) == [2, 8]
    assert answers(series, runner, cases[2:]) == [(4, "cyclic", 4.5)]


def test_predictors_may_depend_on_the_target_and_are_counted(case, runner):
    series = Series((case(8), case(4)), lambda target: [Divide()] * (target.nranks // 4))
    assert series.predictions == 2 + 1
    assert [ranks for ranks, _, _ in answers(series, runner)] == [8, 8, 4]


def test_the_plan_has_every_run_once(case):
    series = Series((case(8), case(4), case(8, "cyclic")), (Divide(),))
    assert [spec.target.nranks for spec in series.plan().truths] == [8, 4]
    assert [spec.target.nranks for spec in series.plan().evidence] == [2]
    assert not series.plan(truths=False).truths


def test_impossible_settings_are_refused_before_anything_runs(case):
    with pytest.raises(UserError, match=r"not in \(0, 1\]"):
        Series((case(8), case(8, settings=Settings(efficiency="7"))), (Divide(),))


def test_a_case_that_fails_does_not_stop_the_others(case, runner, capsys):
    output = Rows(None, as_json=True)
    runner.errors[8] = SimulationError("8 ranks hang", "the log\nof the run")
    with output:
        carry_out(Series((case(8), case(4)), (Divide(),)), runner, output)
    assert output.shown == (True, [(4, "block", 4.5)]) and output.status == 1
    err = capsys.readouterr().err.splitlines()
    assert err[0] == "error: 8 ranks hang" and err[-1] == "1 of 2 predictions"


def test_a_failed_simulation_counts_more_than_bad_input():
    bad, failed = UserError("here", "wrong", "Change it"), SimulationError("it hangs")
    assert [status_of(errors) for errors in ([], [bad], [failed], [bad, failed], [failed, bad])] == [0, 2, 1, 1, 1]


def test_an_interrupted_series_shows_its_rows_and_goes_on_from_the_store(case, record_of, tmp_path, capsys):
    series = Series((case(8), case(4), case(6, "cyclic")), (Divide(),))
    output = Rows(None, as_json=True)
    with Store(tmp_path / "store") as store:
        with (
            pytest.raises(KeyboardInterrupt), output, fake_runner(record_of, store) as runner,
        ):  # fmt: skip
            runner.errors[6] = KeyboardInterrupt()
            carry_out(series, runner, output)
        assert output.shown == (False, [(8, "block", 2.25), (4, "block", 4.5)])
        assert "2 of 3 predictions" in capsys.readouterr().err
        with fake_runner(record_of, store) as again:
            assert answers(series, again)[2] == (6, "cyclic", 3.0)  # 9 * 2 / 6
            assert again.made == [6]


def test_every_collector_has_its_own_witness(case, runner):
    class Seen(Rows):
        def __init__(self):
            super().__init__(None, as_json=True)
            self.seen = []

        def witness(self, settings):
            return lambda answer, truth, result: self.seen.append(
                (settings.efficiency, answer.prediction.time_s, truth.time_s, result.ranks)
            )

    first, second = Seen(), Seen()
    carry_out(Series((case(8), case(4, settings=SLOW)), (Divide(),)), runner, first, Rows(None, as_json=True), second)
    assert first.seen == [("reference", 2.25, 3.0, 8), ("0.5", 4.5, 5.0, 4)] == second.seen
