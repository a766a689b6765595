"""The estimate of a suite's time: from the times of like steps on this computer, with a range and its ground."""

import pytest

from apps.runs.plan import Plan
from validation.campaign import read_campaign
from validation.workbench.work import suite_time as of_suites
from validation.workbench.work.durations import (
    ANSWER,
    CASE,
    FILE,
    RUN,
    START,
    Durations,
    Step,
    keep,
    known_steps,
)
from validation.workbench.work.estimating import LIKE, OTHERS, RULE, SAME, Guesses, estimated
from validation.workbench.work.running import Running
from validation.workbench.work.suite_time import sampled, suite_time

TEXT = 'scenarios = ["grid4x2"]\napps = ["ep"]\nclasses = ["S"]\nranks = [2]\npredictors = ["hcf"]\n'


def known(*steps):
    made = Durations()
    for step, wall_s in steps:
        made.add(step, wall_s)
    return made


def cg(amount, ranks=8, size="A"):
    return Step(RUN, "cg", size, ranks, amount)


def test_a_step_that_was_made_before_takes_the_median_of_its_latest_times():
    guess = Guesses(known((cg(100), 1.0), (cg(100), 3.0), (cg(100), 2.0))).of(cg(100))
    assert (guess.wall_s, guess.ground) == (2.0, SAME)


def test_a_larger_step_takes_longer_in_proportion_to_its_work_beside_a_fixed_part():
    # By hand: 0.1 s whatever the work is, and 1 s for 1e5 messages, so that 2e5 take 0.1 + 2 s.
    guess = Guesses(known(*[(cg(1 + 0.1 * n), 0.1) for n in range(5)], (cg(1e5), 1.1), (cg(1e5), 1.1), (cg(1e5), 1.1)))
    assert guess.of(cg(2e5)).ground == LIKE
    assert guess.of(cg(2e5)).wall_s == pytest.approx(2.1)


def test_the_range_is_wider_the_less_is_known():
    guesses = Guesses(known((cg(100), 1.0)))
    factors = [guesses.of(step).factor for step in (cg(100), cg(200), Step(RUN, "lu", "A", 8, 100.0))]
    assert factors == sorted(factors) and len(set(factors)) == 3
    rule = guesses.of(Step(ANSWER, "hcf"))
    assert guesses.of(Step(RUN, "lu", "A", 8, 100.0)).ground == OTHERS and rule.ground == RULE
    assert rule.factor > max(factors)


def test_runs_share_the_places_and_none_is_shorter_than_its_longest_part():
    times = known((cg(1), 1.0), (cg(1000), 10.0), (Step(CASE, "hcf", amount=1.0), 1.0))
    # By hand: four runs of 1 s, two at a time; with one of 10 s the others have ended before it has.
    assert estimated([[cg(1)]] * 4, [], "hcf", times, jobs=2).wall_s == pytest.approx(2.0)
    assert estimated([[cg(1)]] * 4 + [[cg(1000)]], [], "hcf", times, jobs=2).wall_s == pytest.approx(10.0)
    assert estimated([], [], "hcf", times, jobs=2) is None


def test_evidence_is_made_once_and_a_worker_that_starts_takes_its_time():
    times = known((cg(1), 1.0), (cg(9), 3.0), (Step(CASE, "hcf", amount=1.0), 1.0), (Step(START, "worker"), 5.0))
    assert estimated([[cg(1)]] * 2, [cg(9)], "hcf", times, jobs=1).wall_s == pytest.approx(5.0)
    assert estimated([[cg(1)]] * 2, [cg(9)], "hcf", times, jobs=1, cold=True).wall_s == pytest.approx(10.0)


def test_what_runs_take_beside_their_steps_counts():
    # By hand: each run took 0.5 s longer than its steps.
    times = known((cg(1), 1.0), (Step(CASE, "hcf", amount=1.0), 1.5), (Step(CASE, "hcf", amount=2.0), 2.5))
    assert estimated([[cg(1)]] * 10, [], "hcf", times, jobs=1).wall_s == pytest.approx(15.0)


def test_a_sample_stands_for_all_runs():
    times = known((cg(1), 1.0), (Step(CASE, "hcf", amount=1.0), 1.0))
    whole = estimated([[cg(1)]] * 10, [], "hcf", times, jobs=1, of=1000)
    assert whole.wall_s == pytest.approx(1000.0) and whole.low_s < whole.wall_s < whole.high_s
    assert "100 % from the times of the same steps on this computer" in str(whole)


def test_times_are_kept_beside_the_store_and_those_of_other_computers_are_not_used(tmp_path, monkeypatch):
    keep(tmp_path, [(cg(1), 1.0), (cg(1), 2.0)])
    monkeypatch.setattr("platform.node", lambda: "another")
    keep(tmp_path, [(cg(1), 9.0)])
    assert known_steps(tmp_path).known == {(RUN, "cg"): [(cg(1), 9.0)]}
    monkeypatch.undo()
    assert [wall_s for _, wall_s in known_steps(tmp_path).known[RUN, "cg"]] == [2.0, 1.0]  # the latest come first
    (tmp_path / FILE).write_bytes(b"no database")
    keep(tmp_path, [(cg(1), 1.0)])  # only estimates need them
    assert known_steps(tmp_path).known == {}


@pytest.fixture
def suite(tmp_path):
    (tmp_path / "suites").mkdir()
    (tmp_path / "one.toml").write_text(TEXT)
    return read_campaign(str(tmp_path / "one.toml"), tmp_path / "suites")


def test_a_run_tells_what_it_does_and_its_times_estimate_the_next_one(tmp_path, suite):
    lines, store = [], tmp_path / "store"
    with Running(tmp_path, store, None, lines.append) as made:
        hashes = [case.target.platform.content_hash for case in suite.cases]
        (answer,) = made.run(tmp_path, TEXT, [0], hashes)
        assert answer["reason"] == "" and answer["results"][0]["predictor"] == "hcf"
    assert all(line["case"] == 0 for line in lines)
    text = "\n".join(line["log"] for line in lines)
    assert "hcf predicts ep S on 2 ranks" in text and "simulated ep S on 2 ranks" in text and "smpirun -np 2" in text
    steps = known_steps(store).known
    assert {(RUN, "ep"), (START, "worker")} <= steps.keys() and (ANSWER, "hcf") not in steps  # which imports at first
    again = suite_time(suite, suite.plan(), tmp_path / "other", None, jobs=1, of=1, cold=False, far=False)
    assert "rule of thumb" in again.ground  # of the answer: nothing is known of it
    answer = Step(ANSWER, "hcf", "ep S", 2, 2)
    keep(tmp_path / "other", [(answer, 0.1), *((step, s) for times in steps.values() for step, s in times)])
    again = suite_time(suite, suite.plan(), tmp_path / "other", None, jobs=1, of=1, cold=False, far=False)
    assert again.ground == "100 % from the times of the same steps on this computer"


def test_a_kernel_that_was_never_timed_is_made_twice_at_first_where_it_is_small(tmp_path, suite, monkeypatch):
    made = []
    monkeypatch.setattr(of_suites, "simulate", lambda spec, **_: made.append(spec))
    plan = Plan(truths=suite.plan().truths)
    for _ in range(2):
        suite_time(suite, plan, tmp_path / "store", None, jobs=1, of=1, cold=False, far=False)
    assert [spec.target.nranks for spec in made] == [2, 2]  # the first one may compile the kernel


def test_a_large_suite_is_looked_at_in_part(tmp_path, monkeypatch, suite):
    monkeypatch.setattr(of_suites, "MOST_SAMPLED", 2)
    (tmp_path / "many.toml").write_text(TEXT.replace("[2]", "[1, 2, 3, 4, 5]"))
    campaign = read_campaign(str(tmp_path / "many.toml"), tmp_path / "suites")
    assert [case.target.nranks for case in sampled(campaign).cases] == [1, 4] and sampled(suite) is suite
