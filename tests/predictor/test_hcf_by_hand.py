"""Refusals, cautions and loads of HCF, checked word by word and by hand."""

import math
from pathlib import Path

import pytest

from apps.programs.own_program import UserProgram
from apps.programs.problem import own_problem, problem
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.platform import Cluster, Host, Platform
from predictor import hcf
from predictor.base import Cost, Evidence, EvidenceRequest, HostLoad
from predictor.hcf import HCF, HCF_CONSTANT, HCF_PRINTED, HcfModel, Probe

# Two clusters of 40 and 80 Gflop/s; the probe's ranks compute 6 and 3 s and talk for 1 s and 4 s.
A = Cluster("a", tuple(Host(f"a-{i}", 40e9, 2) for i in range(3)))
B = Cluster("b", tuple(Host(f"b-{i}", 80e9, 2) for i in range(3)))
PLATFORM = Platform("ab", "/nowhere.xml", "ab", (A, B))
PROBLEM = problem("cg", "S")


def target(*placement, asked=PROBLEM):
    return Target(asked, PLATFORM, placement)


@pytest.fixture
def fitted(record_of):
    """Return ``fitted(predictor, compute_s)``: the model of a probe of 7 s with these computing times of its ranks."""

    def made(predictor, compute_s=(6.0, 3.0), asked=PROBLEM):
        (request,) = predictor.requests([target("a-0", "a-1", "b-0", "b-1", asked=asked)])
        return predictor.fit([Evidence(request, record_of(request.target, 7.0, 1.0, compute_s), "e1", Cost(14.0, 0.5))])

    return made


def refusal(call):
    with pytest.raises(UserError) as error:
        call()
    return str(error.value)


def test_the_probe_is_one_run_on_a_node_of_each_cluster():
    asked = [target("a-0", "b-0", "b-1"), target("a-0", "a-1", "b-0")]
    (request,) = HCF.requests(asked)
    assert request == EvidenceRequest("run", target("a-0", "b-0"))
    assert HCF.further(asked, []) == []


def test_a_probe_is_read_by_cluster_and_from_its_slowest_rank(fitted):
    model = fitted(HCF)
    assert model.probe(target("a-0", "b-0")) == Probe({"a": 6.0, "b": 3.0}, 1.0, 2, "e1", Cost(14.0, 0.5))
    assert (model.probe(target("a-0")).Tcp_slower_s, model.probe(target("a-0")).NCT) == (6.0, 2)


def test_every_node_is_busy_for_eq_5_of_its_cluster(fitted):
    # T_homo = 6 2 / 3 = 4 s; HCF of b is 2: 4 s on a, 2 s on b; 1 3 / 2 = 1.5 s of communication.
    found = fitted(HCF).predict(target("a-0", "b-0", "b-1"))
    assert (found.time_s, found.parts) == (5.5, {"compute_s": 4.0, "comm_s": 1.5})
    assert found.loads == {
        "a-0": HostLoad(4.0, 4.0, 4.0), "b-0": HostLoad(2.0, 2.0, 2.0), "b-1": HostLoad(2.0, 2.0, 2.0)
    }  # fmt: skip
    assert (found.evidence, found.cost) == (("e1",), Cost(14.0, 0.5))
    printed = fitted(HCF_PRINTED).predict(target("a-0", "b-0", "b-1"))
    assert printed.loads["b-0"] == HostLoad(8.0, 8.0, 8.0) and printed.parts["compute_s"] == 8.0


@pytest.mark.parametrize("faster_s", [6.0, 3.0, 1.5, 0.001])
def test_the_factor_cancels_where_the_slowest_cluster_is_used(fitted, faster_s):
    # T_homo = 6 2 / 3 = 4 s on a, regardless of b's time in the probe; communication 1 3 / 2 = 1.5 s, or the probe's 1
    # s.
    nodes = target("a-0", "b-0", "b-1")
    assert fitted(HCF, (6.0, faster_s)).predict(nodes).time_s == 4.0 + 1.5
    assert fitted(HCF_CONSTANT, (6.0, faster_s)).predict(nodes).time_s == 4.0 + 1.0
    # Without the slowest cluster the factor counts: T_homo = 6 2 / 2 = 6 s, times faster_s / 6.
    assert fitted(HCF, (6.0, faster_s)).predict(target("b-0", "b-1")).time_s == pytest.approx(faster_s + 1.0)
    # As printed it counts as soon as a faster node is used: 4 s times 6 / faster_s.
    assert fitted(HCF_PRINTED, (6.0, faster_s)).predict(nodes).time_s == pytest.approx(24.0 / faster_s + 1.5)


def test_slower_nodes_lengthen_the_computation_of_their_cluster_alone(fitted):
    found = fitted(HCF_CONSTANT).predict(target("a-0", "b-0", "b-1"), {"b": 3.0})
    assert found.parts == {"compute_s": 6.0, "comm_s": 1.0}
    assert (found.loads["a-0"].core_s, found.loads["b-1"].core_s) == (4.0, 6.0)


def test_several_ranks_on_a_node_are_refused_in_these_words(fitted):
    assert refusal(lambda: fitted(HCF).predict(target("a-0", "a-0", "b-0"))) == (
        "hcf, 3 ranks on 2 nodes: the model assumes one rank per node. Use one rank per node, or another predictor."
    )


def test_a_cluster_that_computes_nothing_is_refused_in_these_words(fitted):
    model = fitted(HCF, (6.0, 0.0))
    assert refusal(lambda: model.predict(target("a-0", "b-0"))) == (
        f"hcf, probe of {PROBLEM} on ab: its rank on cluster b computes nothing, and eq. (4) divides by its "
        "computation time. Use a predictor that follows the program's events, such as dpgraph."
    )
    assert model.predict(target("a-0", "a-1")).time_s == 6.0 + 1.0


def test_where_nothing_is_computed_the_loads_are_none(fitted):
    found = fitted(HCF, (0.0, 0.0)).predict(target("a-0", "b-0"))
    assert found.parts == {"compute_s": 0.0, "comm_s": 7.0}
    assert found.loads == {"a-0": HostLoad(0.0, 0.0, 0.0), "b-0": HostLoad(0.0, 0.0, 0.0)}
    assert found.flags == ("compute share 0 %: outside HCF's regime",)


def model_of(Tcp_s, Tcm_s=1.0):
    probe = Probe(Tcp_s, Tcm_s, len(Tcp_s), "e1", Cost())
    return HcfModel("hcf", hcf.node_compute_time, hcf.communication_time, {(PROBLEM, "ab"): probe})


def test_cautions_word_by_word(monkeypatch):
    monkeypatch.setattr(hcf, "holds_from", lambda name, app: None)
    pair = model_of({"a": 6.0, "b": 3.0})
    assert pair.predict(target("a-0")).flags == (
        "the probe has more nodes (2) than the target (1): outside HCF's regime",
    )
    # a-0 and b-0: 6 s of 7 s.
    assert pair.predict(target("a-0", "b-0")).flags == ()
    # Half of the time is enough: 6 of 12 s; a little less is not.
    assert model_of({"a": 6.0, "b": 3.0}, 6.0).predict(target("a-0", "b-0")).flags == ()
    assert model_of({"a": 6.0, "b": 3.0}, 7.0).predict(target("a-0", "b-0")).flags == (
        "compute share 46 %: outside HCF's regime",
    )


def test_a_share_is_one_of_short_times_too_and_0_of_none(monkeypatch):
    monkeypatch.setattr(hcf, "holds_from", lambda name, app: None)
    assert model_of({"a": 0.5, "b": 0.25}, 0.125).predict(target("a-0", "b-0")).flags == ()
    assert model_of({"a": 0.0, "b": 0.0}, 0.0).predict(target("a-0", "b-0")).flags == (
        "compute share 0 %: outside HCF's regime",
    )


def test_the_validity_map_is_asked_by_predictor_and_program(monkeypatch):
    asked = []
    monkeypatch.setattr(hcf, "holds_from", lambda name, app: asked.append((name, app)) or math.inf)
    assert model_of({"a": 6.0, "b": 3.0}).predict(target("a-0", "b-0")).flags == (
        "compute share 86 %: outside HCF's regime",
    )
    assert asked == [("hcf", "cg")]


def test_of_a_program_of_ones_own_the_map_knows_nothing(monkeypatch, fitted):
    monkeypatch.setattr(hcf, "holds_from", lambda name, app: math.inf)
    own = own_problem(UserProgram("own.c", "0" * 64, (), None, Path("/nowhere/own.c")))
    assert fitted(HCF_CONSTANT, asked=own).predict(target("a-0", "b-0", asked=own)).flags == ()


@pytest.mark.parametrize(("predictor", "name"), [(HCF, "hcf"), (HCF_PRINTED, "hcf:printed")])
def test_predictors_are_called_by_their_names(predictor, name, fitted):
    assert predictor.name == fitted(predictor).name == name
