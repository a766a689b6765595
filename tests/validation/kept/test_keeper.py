"""Results from the store are those of a prediction, and are used only while all that they rest on is there.

Runs are faked: n ranks take 16 / n + 1 s.  The predictor runs two ranks, 9 s, and predicts 9 * 2 / n.
"""

import dataclasses

import pytest

from apps.programs.problem import problem
from apps.runs.engines import run_identity
from apps.runs.runner import Runner
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from apps.store.identity import identity_hash
from platforms.grids.scenario import named_grid
from platforms.read.read import materialise
from predictor.base import EvidenceRequest, OutOfRange, Prediction
from validation.kept import keeper
from validation.kept.keeper import Keeper, KeptSeries, predictors_of
from validation.run import RunRequest
from validation.series.case import Case

PLATFORM = named_grid("grid4x2")


class Divide:
    """Divides the time of two ranks."""

    name = "divide"
    asked = 0

    def requests(self, targets):
        return [EvidenceRequest("run", Target(one.problem, one.platform, one.placement[:2])) for one in targets]

    def further(self, targets, evidence):
        return []

    def fit(self, evidence):
        self.probe_s = evidence[0].record.time_s
        return self

    def predict(self, target):
        self.asked += 1
        if target.nranks == 4:
            raise OutOfRange("divide", "not four", "Take eight")
        return Prediction(self.probe_s * 2 / target.nranks)


@pytest.fixture
def case():
    platform = materialise(PLATFORM)
    hosts = [host.name for host in platform.hosts]
    return lambda ranks: Case(Target(problem("cg", "S"), platform, tuple(hosts[:ranks])), "block", Settings())


@pytest.fixture
def rows(record_of, tmp_path):
    """``rows(case, names)``: the rows of a command of its own, how often it predicted, and its cautions."""

    def evaluate(case, names=("divide",)):
        def simulate(spec, *, stop=None):
            record = record_of(spec.target, 16 / spec.target.nranks + 1, 1.0)
            return dataclasses.replace(record, extrapolation=None)

        model = Divide()
        with Store(tmp_path) as store, Runner(jobs=1, store=store, simulate=simulate) as runner:
            series = KeptSeries((case,), (model,), keeper=Keeper(runner, store, names))
            results = [result for _, result in series.outcomes(runner)]
            assert series.predictions == len(results)
            return results, model.asked, runner.cautions.lines()

    return evaluate


def test_a_case_is_predicted_once_and_its_rows_and_cautions_stay_the_same(case, rows):
    first, asked, said = rows(case(8))
    assert asked == 1 and first[0].predicted_s == 2.25 and first[0].simulated_s == 3.0
    assert rows(case(8)) == (first, 0, said)
    assert rows(case(6))[1] == 1


def test_rows_with_cautions_that_are_none_are_refused_and_made_once_more(case, rows, tmp_path, capsys):
    rows(case(8))
    with Store(tmp_path) as store:
        (entry,) = (entry for entry in store.entries() if entry.kind == "comparison")
        payload = store.get(entry.kind, entry.key)
        said = [["run", ["words"], {"no": "key"}]]
        store.put(entry.kind, entry.key, entry.identity, {**payload, "said": said})
    again, asked, _ = rows(case(8))
    assert asked == 1 and again[0].predicted_s == 2.25
    assert "unhashable" in capsys.readouterr().err
    assert rows(case(8))[:2] == (again, 0)


def test_other_predictors_or_files_of_the_project_give_results_of_their_own(case, rows, monkeypatch):
    rows(case(8))
    assert rows(case(8), names=("other",))[1] == 1
    monkeypatch.setattr(keeper, "files_state", lambda: {"a.py": (1, 2, 3, 4)})
    assert rows(case(8))[1] == 1
    assert rows(case(8))[1] == 0


@pytest.mark.parametrize("ranks", [2, 8])
def test_a_case_is_predicted_again_when_its_evidence_or_its_truth_was_removed(case, rows, tmp_path, ranks):
    first, _, _ = rows(case(8))
    with Store(tmp_path) as store:
        target = case(8).target
        key = identity_hash(
            run_identity(Settings().spec(dataclasses.replace(target, placement=target.placement[:ranks])))
        )
        store.remove([entry for entry in store.entries() if (entry.kind, entry.key) == ("record", key)])
    again, asked, _ = rows(case(8))
    assert asked == 1 and again[0].predicted_s == first[0].predicted_s


def test_a_refusal_is_not_kept(case, rows):
    assert rows(case(4))[1] == 1
    results, asked, _ = rows(case(4))
    assert asked == 1 and results[0].predicted_s is None


def test_kept_results_of_another_form_are_reported_and_made_again(case, rows, tmp_path, capsys):
    rows(case(8))
    with Store(tmp_path) as store:
        (entry,) = [entry for entry in store.entries() if entry.kind == "comparison"]
        payload = store.get("comparison", entry.key)
        del payload["results"][0]["mapping"]
        store.put("comparison", entry.key, entry.identity, payload)
    results, asked, _ = rows(case(8))
    assert asked == 1 and results[0].mapping == "block"
    assert "fields are missing or unknown: mapping. It is made again." in capsys.readouterr().err


def test_only_the_projects_own_predictors_on_simulated_kernels_are_kept():
    assert predictors_of(RunRequest()) == ["default"]
    assert predictors_of(RunRequest(predictor="hcf, structural")) == ["hcf", "structural"]
    for other in ({"predictor": "mine.py:P"}, {"predictor": "all"}, {"report": "a.html"}, {"truth": "a.csv"}):
        assert predictors_of(RunRequest(**other)) is None
