"""HCF, checked by hand, and the evidence that it must not get."""

import math
from dataclasses import replace

import pytest

from apps.programs.problem import problem
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.model.placement import block
from platforms.model.platform import Cluster, Host, Platform
from predictor import hcf
from predictor.answers import regime
from predictor.answers.answers import predict
from predictor.base import Cost, EvidenceRequest, OutOfRange
from predictor.evidence.broker import Broker, RefusedEvidence
from predictor.registry import PREDICTORS, predictor, predictors

# Grid 4*8 of the paper's Table (1): 40, 50, 60 and 70 Gflop/s.  A problem of 1.6e12 flop, a quarter on each of the
# NCT = 4 probe nodes, computes 10, 8, 20/3 and 40/7 s.  The slowest probe task takes 12 s in all: T_cm = 2 s.
SPEEDS = (40e9, 50e9, 60e9, 70e9)
PROBE_FLOPS = 4e11
ELAPSED_S = 12.0
PROBLEM = problem("cg", "S")


def grid(nodes, speeds=SPEEDS, cores=1):
    clusters = tuple(
        Cluster(f"c{c}", tuple(Host(f"c{c}-{i}", speed, cores) for i in range(nodes)))
        for c, speed in enumerate(speeds, 1)
    )
    return Platform(f"grid{len(speeds)}x{nodes}", "/nowhere.xml", f"{nodes}{speeds}", clusters)


@pytest.fixture
def probe(record_of):
    """Return ``probe(spec)``: a record of ranks that compute PROBE_FLOPS and communicate for the rest of ELAPSED_S."""

    def made(spec):
        compute_s = [PROBE_FLOPS / spec.target.platform.host(host).speed_flops for host in spec.target.placement]
        return record_of(spec.target, ELAPSED_S, PROBE_FLOPS * spec.target.nranks, compute_s)

    return made


@pytest.fixture
def broker_for(probe):
    """Return ``broker_for(targets)``: a broker that refuses runs of these targets; ``record`` makes all others."""

    def made(targets, record=probe):
        return Broker(Settings(), targets, record=record, identify=lambda spec: spec.identity())

    return made


@pytest.fixture
def answer(broker_for):
    """Return ``answer(name, platform)``, which predicts one rank on each node, or the ranks of ``placement``."""

    def ask(name, platform, placement=None):
        target = Target(PROBLEM, platform, placement or block(platform, len(platform.hosts)))
        return predict(predictor(name), [target], broker_for([target]))[0]

    return ask


def test_sequential_time_is_the_slowest_task_times_the_tasks_as_in_eq_2():
    assert hcf.sequential_compute_time(10.0, NCT=4) == 40.0


def test_homogeneous_time_shrinks_with_the_nodes_as_in_eq_3():
    assert hcf.homogeneous_compute_time(10.0, NCT=4, nodes=32) == 1.25


def test_factor_is_the_slowest_over_the_node_as_in_eq_4():
    # 40 against 70 Gflop/s.
    assert hcf.heterogeneity_factor(10.0, 40 / 7) == pytest.approx(1.75)


def test_node_time_is_multiplied_by_the_factor_as_eq_5_is_printed():
    assert hcf.node_compute_time_as_printed(1.25, 1.75) == 2.1875


def test_node_time_is_divided_by_the_factor_in_the_corrected_eq_5():
    assert hcf.node_compute_time(1.75, 1.75) == 1.0


def test_communication_grows_with_the_nodes_as_in_eq_7():
    # Fanfakh, Table (1), Grid 4*8: 2 s on 4 nodes, 32 nodes.
    assert hcf.communication_time(2.0, NCT=4, nodes=32) == 16.0


def test_constant_communication_does_not_grow():
    assert hcf.constant_communication_time(2.0, NCT=4, nodes=32) == 2.0


@pytest.mark.parametrize(
    ("name", "compute_s", "comm_s"),
    [
        ("hcf:printed", 1.25 * 1.75, 16.0),  # the fastest node decides the maximum of eq. (6)
        ("hcf", 1.25, 16.0),  # the slowest one does
        ("hcf:constant", 1.25, 2.0),
    ],
)
def test_eq_8_adds_computation_and_communication(name, compute_s, comm_s, answer):
    prediction = answer(name, grid(8)).prediction
    assert prediction.parts == pytest.approx({"compute_s": compute_s, "comm_s": comm_s})
    assert prediction.time_s == pytest.approx(compute_s + comm_s)


def test_probe_communication_is_that_of_the_rank_that_computes_longest(answer):
    # 12 - 10 s; the other ranks wait and would say 4 to 6.3 s.
    assert answer("hcf:constant", grid(8)).prediction.parts["comm_s"] == pytest.approx(2.0)


def test_heterogeneity_matters_when_the_target_leaves_out_the_slowest_cluster(answer):
    platform = grid(8)
    fast = tuple(host.name for cluster in platform.clusters[1:] for host in cluster.hosts)
    # 24 nodes: T_homo = 10 * 4 / 24; the slowest of them has 50 Gflop/s, HCF = 50 / 40.
    assert answer("hcf", platform, fast).prediction.parts["compute_s"] == pytest.approx(10 * 4 / 24 / 1.25)
    assert answer("hcf:printed", platform, fast).prediction.parts["compute_s"] == pytest.approx(10 * 4 / 24 * 1.75)


def test_shares_by_speed_keep_all_nodes_busy(broker_for):
    # Eq. (2): 40 s of the slowest node; a node of cluster 1 has 40 of 1760 parts of it, and the others finish with it.
    platform = grid(8)
    placement = block(platform, 32)
    speeds = [platform.host(host).speed_flops for host in placement]
    target = Target(PROBLEM.divided(speeds), platform, placement)
    prediction = predict(predictor("hcf:constant"), [target], broker_for([target]))[0].prediction
    assert prediction.parts == pytest.approx({"compute_s": 40 * 40 / 1760, "comm_s": 2.0}, rel=0.02)  # whole rows
    busy_s = [load.busy_low_s for load in prediction.loads.values()]
    assert min(busy_s) == pytest.approx(max(busy_s), rel=0.06)
    assert "unequal shares: outside the validity map, which has equal ones" in prediction.flags


def test_a_model_of_equal_shares_refuses_others(broker_for):
    platform = grid(8)
    target = Target(PROBLEM.divided(range(1, 33)), platform, block(platform, 32))
    answer = predict(predictor("npt"), [target], broker_for([target]))[0]
    assert answer.prediction is None
    assert answer.refusal.startswith("npt, cg S in unequal shares on 32 ranks of grid4x8: the model divides the work")
    assert answer.evidence == ()


def test_unequal_clusters_count_their_nodes(answer):
    platform = grid(8)
    some = ("c1-0", "c1-1", "c2-0", "c3-0", "c4-0", "c4-1")  # N M = 6
    assert answer("hcf", platform, some).prediction.time_s == pytest.approx(10 * 4 / 6 + 2 * 6 / 4)


def test_eq_5_as_printed_is_57_to_75_percent_high_without_communication(answer):
    # The fastest node decides: 55 / 35 and 70 / 40 of the published speeds.
    for speeds, excess in (((35e9, 45e9, 55e9), 55 / 35), (SPEEDS, 70 / 40)):
        platform = grid(8, speeds)
        compute_s = [answer(name, platform).prediction.parts["compute_s"] for name in ("hcf:printed", "hcf")]
        assert compute_s[0] / compute_s[1] == pytest.approx(excess)


def test_several_ranks_per_node_are_out_of_range(broker_for):
    platform = grid(4, cores=2)
    target = Target(PROBLEM, platform, block(platform, 32, ranks_per_host=2))
    refused = predict(predictor("hcf"), [target], broker_for([target]))[0]
    assert refused.prediction is None
    assert "one rank per node" in refused.refusal
    model = predictor("hcf").fit(broker_for([target]).gather(predictor("hcf").requests([target])))
    with pytest.raises(OutOfRange):
        model.predict(target)


@pytest.mark.parametrize("name", ["hcf:printed", "hcf", "hcf:constant"])
def test_a_node_that_computes_nothing_has_no_factor_in_eq_4(name, broker_for, probe):
    platform = grid(8)
    target = Target(PROBLEM, platform, block(platform, 32))

    def idle_on_c3(spec):
        record = probe(spec)
        return replace(record, compute_s=tuple(0.0 if i == 2 else s for i, s in enumerate(record.compute_s)))

    def ask(target):
        return predict(predictor(name), [target], broker_for([target], idle_on_c3))[0]

    refused = ask(target)
    assert refused.prediction is None
    assert "rank on cluster c3 computes nothing" in refused.refusal
    # Where no rank of the target is on that cluster, eq. (4) is not asked for it.
    without = tuple(host.name for cluster in (*platform.clusters[:2], platform.clusters[3]) for host in cluster.hosts)
    assert ask(Target(PROBLEM, platform, without)).prediction is not None


def test_a_program_that_computes_nothing_at_all_has_communication_only(broker_for, record_of):
    platform = grid(8)
    target = Target(PROBLEM, platform, block(platform, 32))

    def silent(spec):
        return record_of(spec.target, ELAPSED_S, 0.0, (0.0,) * spec.target.nranks)

    # By hand, eq. (7) alone: 12 s x 32 / 4.
    said = predict(predictor("hcf"), [target], broker_for([target], silent))[0]
    assert said.prediction.parts == {"compute_s": 0.0, "comm_s": 96.0}


@pytest.fixture
def known_from(monkeypatch):
    """Return ``known_from(share)``, which sets the compute share from which HCF holds in the map; None: not known."""

    def set_to(share):
        monkeypatch.setattr(hcf, "holds_from", lambda name, app: share)
        monkeypatch.setattr(regime, "known_map", dict)  # which speaks of its own edges

    return set_to


def test_communication_dominated_predictions_carry_a_caution(answer, known_from):
    known_from(None)
    # 1.25 s of 17.25 s.
    assert answer("hcf", grid(8)).prediction.flags == ("compute share 7 %: outside HCF's regime",)
    assert answer("hcf", grid(2)).prediction.flags == ()  # 5 s of 9 s


def test_the_regime_is_that_of_the_validity_map_where_it_knows_the_program(answer, known_from):
    known_from(0.06)
    assert answer("hcf", grid(8)).prediction.flags == ()
    known_from(0.6)
    assert answer("hcf", grid(2)).prediction.flags == ("compute share 56 %: outside HCF's regime",)
    known_from(math.inf)  # never within what is tolerated
    assert answer("hcf", grid(2)).prediction.flags == ("compute share 56 %: outside HCF's regime",)


def test_a_lone_cluster_is_probed_on_two_nodes_which_communicate(broker_for, record_of):
    # One node alone would send nothing, and the grid would seem to communicate in no time.
    platform = grid(4, (40e9,))
    target = Target(PROBLEM, platform, block(platform, 4))

    def probe(spec):
        assert spec.target.placement == ("c1-0", "c1-1")
        return record_of(spec.target, 12.0, 0.0, (10.0, 9.0))

    said = predict(predictor("hcf"), [target], broker_for([target], probe))[0].prediction
    # By hand, (3) and (7): 10 s x 2 / 4 of computation, and the slower rank's 2 s x 4 / 2.
    assert said.parts == pytest.approx({"compute_s": 5.0, "comm_s": 4.0})


def test_a_prediction_is_charged_for_its_probe(answer):
    # Four nodes for 12 s.
    assert answer("hcf", grid(8)).prediction.cost == Cost(node_s=48.0, wall_s=0.25)


def test_one_probe_serves_all_predictors_and_target_sizes(broker_for):
    platform = grid(8)
    targets = [Target(PROBLEM, platform, block(platform, ranks)) for ranks in (8, 32)]
    broker = broker_for(targets)
    others = [
        name for name in PREDICTORS if not name.startswith(("npt", "hierarchical", "hcf:nnls", "fit:", "extrap"))
    ]  # which run smaller problems, or on more nodes than the probe
    specs = {spec for model in predictors(others) for spec in broker.specs(model.requests(targets))}
    assert [spec.target.placement for spec in specs] == [("c1-0", "c2-0", "c3-0", "c4-0")]


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_a_cheating_predictor_is_refused(order, broker_for):
    platform = grid(2)
    target = Target(PROBLEM, platform, block(platform, 8))

    class Cheat:
        name = "cheat"

        def requests(self, targets):
            return [EvidenceRequest("run", replace(t, placement=t.placement[order])) for t in targets]

        def fit(self, evidence):
            raise AssertionError("it was told the truth")

    with pytest.raises(RefusedEvidence, match="the target itself"):
        predict(Cheat(), [target], broker_for([target]))


def test_unknown_evidence_is_refused(broker_for):
    platform = grid(2)
    target = Target(PROBLEM, platform, block(platform, 4))
    with pytest.raises(UserError, match="Known: run"):
        broker_for([]).gather([EvidenceRequest("rumour", target)])


def test_unknown_predictors_list_the_known_ones():
    with pytest.raises(UserError, match="hcf:constant, hcf, hcf:printed"):
        predictor("hfc")
