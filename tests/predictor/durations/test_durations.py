"""Test how the time of evidence is compared with that of simulating the run."""

import pytest

from apps.probes.network.measure import Exchange, NetworkPlan
from apps.programs.problem import problem
from apps.results.cautions import Cautions
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.answers.answers import Answer
from predictor.base import Cost, Evidence, EvidenceRequest, Prediction
from predictor.durations.after import sentences
from predictor.durations.before import START_S, evidence_s, simulation_s, warn


def target_of(app, size="B", ranks=4):
    platform = materialise(named_grid("grid2x2", "gigabit", [40e9, 50e9]))
    return Target(problem(app, size), platform, block(platform, ranks))


def test_the_messages_of_lu_are_counted():
    # LU A on four ranks sends 504 messages in an iteration, as the official program does (apps/traffic), and 14
    # messages of the barrier's dissemination, log2(4) rounds of four, begin it.
    first, second = (simulation_s(target_of("lu", "A"), count)[0] for count in (10, 11))
    assert second - first == pytest.approx(504 / 130e3, rel=1e-12)
    assert first > START_S + 10 * 504 / 130e3


def test_iterations_that_may_not_repeat_give_a_range():
    target = target_of("lu", "A")  # 250 iterations: five at least; at most 5, 10, ..., 160 and 250 of them
    least_s, most_s = simulation_s(target, None)
    assert least_s == simulation_s(target, 5)[0]
    assert most_s == pytest.approx(sum(simulation_s(target, n)[0] for n in (5, 10, 20, 40, 80, 160, 250)), rel=1e-12)
    full_s = simulation_s(target, 250)
    assert simulation_s(target, "full") == full_s and full_s[0] == full_s[1]


def test_experiments_take_a_start_their_meetings_and_their_messages():
    target = target_of("lu")
    a, b = target.placement[:2]
    plan = NetworkPlan(target.platform, ((Exchange(a, b, 1, 1),), (Exchange(a, b, 9, 0), Exchange(b, a, 9, 0))))
    request = EvidenceRequest("exchange", target, plan=plan)
    assert evidence_s(request, None) == pytest.approx(START_S + 2 * 3e-5 + 6 / 130e3, rel=1e-12)


def cautions_on(app, probe, iterations=None):
    target = target_of(app)
    evidence = (Evidence(EvidenceRequest("run", target_of(probe)), None, "probe", Cost(1.0, 1.0)),)
    said = Cautions()
    warn([Answer("structural", target, Prediction(1.0), None, evidence, 0.0)], Settings(iterations=iterations), said)
    return said.lines()


def test_evidence_that_takes_longer_is_warned_of():
    (line,) = cautions_on("ep", "lu")
    assert line.startswith("ep B on 4 ranks of grid2x2: the evidence of structural should take 0.07 s on one core")
    assert line.endswith("simulating instead 0.04 s: simulating is faster (gridval program run)")
    assert "may be faster" in cautions_on("mg", "lu")[0]  # which may need all of its iterations


def test_evidence_within_half_of_the_simulation_is_not_warned_of():
    assert cautions_on("lu", "ep", "full") == []


def row(predictor, evidence_s, run_s, truth="simulation"):
    return {"predictor": predictor, "evidence_wall_s": evidence_s, "simulation_wall_s": run_s, "truth": truth}


def test_both_times_are_said_where_the_evidence_took_more_than_half():
    rows = [row("structural", 0.2, 0.1), row("structural", 0.2, 0.3), row("structural", 0.2, 0.5), row("hcf", 9.0, 0.1)]
    assert list(sentences(rows)) == [
        "the evidence of structural took 0.20 s in 2 of 3 cases, simulating the run 0.10 to 0.30 s: simulating is "
        "faster in 1 of them"
    ]
    assert list(sentences([row("structural", 0.2, 0.4), row("dpgraph", 2.0, 0.1, "measurement")])) == []
