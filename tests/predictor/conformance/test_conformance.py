"""Checks that every predictor has to pass, on the registered predictors and on predictors that break each of them."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from apps.runs.runner import Runner
from apps.runs.simulate import simulate
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.placement import probe_placement
from predictor import check as command
from predictor.base import Cost, EvidenceRequest, OutOfRange, Prediction
from predictor.conformance.checks import CHECKS
from predictor.conformance.judge import (
    ANSWERS,
    EXCUSED,
    EXCUSES,
    FAILS,
    PASSES,
    UNJUDGED,
    Excuse,
    excuse,
    judge,
    text_lines,
)
from predictor.conformance.subject import CASES, SETTINGS, permuted, renamed, scaled
from predictor.extrap import process
from predictor.registry import PREDICTORS, predictor

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "conformance.md"
QUICK = [one for one in CHECKS if one.quick]
SLOW = [one for one in CHECKS if not one.quick]


@pytest.fixture(scope="module")
def simulated():
    """Return a runner that makes every run once."""
    with Runner(jobs=1) as runner:
        yield runner


def failed(verdicts):
    return [(one.check, one.findings) for one in verdicts if one.outcome == FAILS]


@pytest.mark.parametrize("name", PREDICTORS)
def test_every_predictor_passes_the_quick_checks(name, simulated):
    assert failed(judge(predictor(name), simulated, checks=QUICK)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", PREDICTORS)
def test_every_predictor_passes_the_other_checks(name, simulated):
    assert failed(judge(predictor(name), simulated, checks=SLOW)) == []


@pytest.mark.slow
def test_every_excuse_is_needed(simulated):
    """An excuse that no predictor uses any more has to go."""
    used = {
        (verdict.predictor, verdict.check)
        for name in sorted({name for one in EXCUSES for name in one.predictors})
        for verdict in judge(predictor(name), simulated)
        if verdict.outcome == EXCUSED
    }
    needed = {
        (name, one.check)
        for one in EXCUSES
        for name in one.predictors
        if one.check != ANSWERS or process.python() is None  # Extra-P is installed or not
    }
    assert used == needed


def test_excuses_name_predictors_and_checks_once():
    named = [(one.check, name) for one in EXCUSES for name in one.predictors]
    assert len(set(named)) == len(named)
    assert {check for check, _ in named} <= {ANSWERS, *(check.name for check in CHECKS)}
    assert {name for _, name in named} <= {*PREDICTORS}
    assert all(one.reason.strip() for one in EXCUSES)


def speeds(target):
    return [target.platform.host(host).speed_flops for host in target.placement]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_changed_platforms_are_what_they_say(case):
    """Every rank keeps a host of its speed, and no name, order or unit stays as it was."""
    for change, factor in ((renamed, 1.0), (permuted, 1.0), (lambda *two: scaled(*two, 2.0), 2.0)):
        for before, after in zip(case.targets, change(case, case.targets), strict=True):
            assert speeds(after) == [factor * speed for speed in speeds(before)]
            assert after.problem == before.problem
            assert after.platform.content_hash != before.platform.content_hash or change is permuted
    names = [host.name for host in case.targets[0].platform.hosts]
    others = [host.name for host in renamed(case, case.targets)[0].platform.hosts]
    assert not {*names} & {*others}
    clusters = [one.name for one in permuted(case, case.targets)[0].platform.clusters]
    assert clusters == [one.name for one in case.targets[0].platform.clusters][::-1]


# Predictors that break one check each.  A run takes as long as its hosts need for 1e12 flops, so nothing is simulated.


@pytest.fixture
def invented(record_of):
    """Return a runner whose runs take 1e12 flop over the speed of all ranks together."""

    def run(spec, *, stop=None):
        return record_of(spec.target, 1e12 / sum(speeds(spec.target)), 1e12)

    with Runner(jobs=1, simulate=run, identify=lambda spec: spec.identity()) as runner:
        yield runner


class Honest:
    """Asks for a run on one node per cluster, and predicts its time; passes every check."""

    name = "honest"

    def probe(self, target):
        return EvidenceRequest("run", replace(target, placement=probe_placement(target.platform)))

    def requests(self, targets):
        return list(dict.fromkeys(self.probe(one) for one in targets))

    def further(self, targets, evidence):
        return []

    def fit(self, evidence):
        return HonestModel(self, {one.request: one for one in evidence})

    def change(self, made, target, answers):
        return made


class HonestModel:
    def __init__(self, own, answers):
        self.own, self.answers = own, answers

    def predict(self, target):
        probe = self.answers[self.own.probe(target)]
        made = Prediction(probe.record.time_s, evidence=(probe.id,), cost=probe.cost)
        return self.own.change(made, target, self.answers)


class Thief(Honest):
    """Asks for the target's own run."""

    def probe(self, target):
        return EvidenceRequest("run", target)


class Disguised(Honest):
    """Asks for the target's run on the same grid under other names."""

    def probe(self, target):
        case = next(case for case in CASES if target in case.targets)
        (other,) = renamed(case, (target,))
        return EvidenceRequest("run", other)


class Peeping(Honest):
    """Simulates the target."""

    def change(self, made, target, answers):
        simulate(SETTINGS.spec(target))
        return made


class Moody(Honest):
    calls = 0

    def change(self, made, target, answers):
        self.calls += 1
        return replace(made, time_s=made.time_s * (1 + 1e-15 * self.calls))


class Ordered(Honest):
    def change(self, made, target, answers):
        return replace(made, remarks=(str(next(iter(answers)).target.problem),))


class Free(Honest):
    def change(self, made, target, answers):
        return replace(made, cost=Cost())


class Nameless(Honest):
    def change(self, made, target, answers):
        return replace(made, evidence=())


class Cheaper(Honest):
    """Asks for more about one target than about two."""

    def requests(self, targets):
        asked = super().requests(targets)
        if len(targets) == 1:
            more = replace(targets[0], placement=targets[0].placement[:3])
            asked.append(EvidenceRequest("run", more))
        return asked


class Outside(Honest):
    def change(self, made, target, answers):
        return replace(made, low_s=made.time_s / 4, high_s=made.time_s / 2)


class Many(Honest):
    def fit(self, evidence):
        model = super().fit(evidence)
        model.predict_many = lambda targets: [Prediction(1.0) for _ in targets]
        return model


class Alphabetical(Honest):
    def change(self, made, target, answers):
        return replace(made, time_s=made.time_s * len(min(target.placement)))


class FirstInFile(Honest):
    def change(self, made, target, answers):
        return replace(made, time_s=made.time_s * target.platform.clusters[0].speed_flops / max(speeds(target)))


class Overhead(Honest):
    def change(self, made, target, answers):
        return replace(made, time_s=made.time_s + 1e-6)


class Careless(Honest):
    def change(self, made, target, answers):
        if target.nodes == 1:
            raise ZeroDivisionError("one node")
        return made


class TwoLines(OutOfRange):
    def __str__(self):
        return "one node.\nUse more."


class Talkative(Honest):
    def change(self, made, target, answers):
        if target.nodes == 1:
            raise TwoLines("here", "one node", "Use more")
        return made


class NotANumber(Honest):
    def change(self, made, target, answers):
        return replace(made, time_s=float("nan") if target.nodes == 1 else made.time_s)


class Broken(Honest):
    def requests(self, targets):
        return {}["nothing"]


class Aloof(Honest):
    def change(self, made, target, answers):
        raise OutOfRange("anything", "too hard", "Use another predictor")


def test_an_honest_predictor_passes_every_check(invented):
    verdicts = list(judge(Honest(), invented))
    assert {one.outcome for one in verdicts} == {PASSES}
    assert [one.check for one in verdicts] == [ANSWERS, *(check.name for check in CHECKS)]


@pytest.mark.parametrize(
    ("made", "check", "finding"),
    [
        (Disguised, "blind", r"it was given the run of cg S on 8 ranks of grid4x2, which is the target's"),
        (Peeping, "blind", r"it simulates by itself, .*smpirun"),
        (Moody, "deterministic", r"cg S: time_s is .* when it is asked again"),
        (Ordered, "order", r"remarks is \('cg S',\), and \('mg S',\) when the targets come in the reverse order"),
        (Free, "charged", r"the prediction costs 0 node-seconds, but the evidence"),
        (Nameless, "charged", r"1 pieces of evidence are not those that it names"),
        (Cheaper, "never-cheaper", r"evidence of both costs .* node-seconds, of each alone"),
        (Outside, "interval", r"its time .* is not in"),
        (Many, "many", r"of many, and .* alone"),
        (Alphabetical, "renamed", r"the predicted time is .* \(7\.5e-01\)"),  # site1-0 in place of c1-0
        (FirstInFile, "permuted", r"the predicted time is .* \(7\.5e-01\)"),  # 70 Gflop/s in place of 40
        (Overhead, "scales", r"cg S: the predicted time is"),
        (Careless, "refuses", r"one rank: ZeroDivisionError: one node \(.*test_conformance\.py:\d+\)"),
        (Talkative, "refuses", r"one rank: 2 lines"),
        (NotANumber, "refuses", r"one rank: the predicted time is nan s"),
    ],
)
def test_a_predictor_that_breaks_a_check_fails_it(made, check, finding, invented):
    (wanted,) = (one for one in CHECKS if one.name == check)
    answers, verdict = judge(made(), invented, checks=[wanted])
    assert (answers.check, answers.outcome) == (ANSWERS, PASSES)
    assert (verdict.check, verdict.outcome) == (check, FAILS)
    assert re.search(finding, "\n".join(verdict.findings))
    assert all(len(one.splitlines()) == 1 for one in verdict.findings)


def test_a_run_of_the_target_is_refused_and_nothing_else_is_judged(invented):
    blind, *others = judge(Thief(), invented)
    assert (blind.check, blind.outcome) == ("blind", FAILS)
    assert "the requested evidence is a run of the target itself" in blind.findings[0]
    assert {one.outcome for one in others} == {UNJUDGED}


@pytest.mark.parametrize(
    ("made", "finding"),
    [
        (Broken, r"KeyError: 'nothing' \(.*:\d+\)"),
        (Aloof, "no answer for any case, such as: .*too hard"),
    ],
)
def test_a_predictor_without_answers_fails(made, finding, invented):
    answers, *others = judge(made(), invented)
    assert (answers.check, answers.outcome) == (ANSWERS, FAILS)
    assert re.search(finding, answers.findings[0])
    assert {one.outcome for one in others} == {UNJUDGED}


def test_own_predictors_give_their_own_reasons(invented):
    class Excused(Overhead):
        excuses = {"scales": "a message takes the processor a microsecond"}  # noqa: RUF012

    (wanted,) = (one for one in CHECKS if one.name == "scales")
    _, verdict = judge(Excused(), invented, checks=[wanted])
    assert (verdict.outcome, verdict.reason) == (EXCUSED, "a message takes the processor a microsecond")
    assert excuse(Excused(), "order") is None
    Excused.excuses = {"scales": " "}  # no reason
    assert excuse(Excused(), "scales") is None


def test_an_excuse_holds_up_to_its_deviation(invented, monkeypatch):
    (wanted,) = (one for one in CHECKS if one.name == "scales")

    def outcome(most):
        monkeypatch.setattr("predictor.conformance.judge.EXCUSES", (Excuse("scales", ("honest",), "so", most),))
        return list(judge(Overhead(), invented, checks=[wanted]))[1].outcome

    assert (outcome(1e-3), outcome(1e-12), outcome(None)) == (EXCUSED, FAILS, EXCUSED)


OWN = """
from predictor.base import OutOfRange
class Aloof:
    name = "aloof"
    def requests(self, targets): return []
    def further(self, targets, evidence): return []
    def fit(self, evidence): return self
    def predict(self, target): raise OutOfRange("anything", "too hard", "Use another predictor")
class Excused(Aloof):
    name = "excused"
    excuses = {"answers": "it is a drawing board"}
"""


def test_the_command_judges_own_predictors(tmp_path, capsys):
    path = tmp_path / "own.py"
    path.write_text(OWN)
    assert command.main(["--no-store", f"{path}:Excused"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "(1) answers: it is a drawing board"
    assert command.main(["--no-store", "--json", f"{path}:Aloof", f"{path}:Excused"]) == command.FAILED == 3
    said = json.loads(capsys.readouterr().out)["verdicts"]
    assert len(said) == 2 * (1 + len(CHECKS))
    assert [(one["predictor"], one["outcome"]) for one in said if one["check"] == ANSWERS] == [
        ("aloof", FAILS), ("excused", EXCUSED)]  # fmt: skip
    assert command.main(["--no-store", f"{path}:Aloof"]) == 3
    assert "aloof fails answers: it has to answer the targets of a case" in capsys.readouterr().out


def test_bad_names_are_refused(refused):
    refused(command.main, ["hfc"], "predictor 'hfc': no such model")
    refused(command.main, ["nowhere.py:Mine"], "there is no file nowhere.py")


def test_findings_are_shown_up_to_three(invented):
    (wanted,) = (one for one in CHECKS if one.name == "refuses")

    class Worse(Honest):
        def change(self, made, target, answers):
            if target not in {one for case in CASES for one in case.targets}:
                raise ZeroDivisionError
            return made

    lines = text_lines(list(judge(Worse(), invented, checks=[wanted])))
    assert lines[2:4] == ["", "honest fails refuses: What it does not predict, it refuses in one line."]
    assert lines[-1] == "    and 3 more"


def page_tables():
    """Return the tables of docs/reference/conformance.md: the checks, and the excuses."""
    return "\n".join([*_checks(), "", *_excuses()]) + "\n"


def _checks():
    yield "| check | meaning | how it is judged |"
    yield "|---|---|---|"
    for check in CHECKS:
        yield f"| `{check.name}` | {check.meaning} | {check.judged} |"


def _excuses():
    yield "| check | predictors | excused up to | reason |"
    yield "|---|---|---|---|"
    for excuse_listed in EXCUSES:
        most = "-" if excuse_listed.most is None else f"{excuse_listed.most:g}"
        names = ", ".join(f"`{name}`" for name in excuse_listed.predictors)
        yield f"| `{excuse_listed.check}` | {names} | {most} | {excuse_listed.reason} |"


def test_the_page_has_the_tables_of_the_code():
    assert PAGE.read_text().partition("<!-- tables -->\n\n")[2].partition("\n<!-- end -->")[0] == page_tables()


@pytest.mark.slow
@pytest.mark.skipif(process.python() is not None, reason="the page is of an environment without Extra-P")
def test_the_page_shows_what_the_command_prints(tmp_path, capsys):
    shown = re.search(r"gridval predictor check\n```\n\n```text\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert command.main(["--store", str(tmp_path / "store")]) == 0
    assert capsys.readouterr().out == shown[1]


def test_targets_are_refused_where_they_were_answered(invented):
    """A predictor that answers targets only in their first order fails, and does not end the command."""

    class Choosy(Honest):
        def change(self, made, target, answers):
            if str(next(iter(answers)).target.problem) != "cg S":
                raise OutOfRange("here", "not now", "Ask again")
            return made

    verdicts = {one.check: one for one in judge(Choosy(), invented)}
    assert "refused here, but not elsewhere" in verdicts["order"].findings[0]
    assert issubclass(OutOfRange, UserError)
    assert isinstance(CASES[0].targets[0], Target)
