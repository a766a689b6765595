"""#op, #b and #x of the NAS kernels against the official figures, and predictor ``hierarchical``."""

import csv
import math
from pathlib import Path

import pytest

from apps.kernels.flow.tiles import cut_for
from apps.probes.plan import Measurement
from apps.programs.own_program import UserProgram
from apps.programs.problem import own_problem, problem, sized_problem
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.traffic import traffic
from platforms.model.placement import block
from platforms.model.platform import Cluster, Host, Platform
from predictor.answers.answers import predict
from predictor.base import OutOfRange
from predictor.evidence.broker import Broker
from predictor.hierarchical.kernels import exchanging, exchanging_names
from predictor.hierarchical.multicore_cluster import table_cluster
from predictor.hierarchical.predictor import (
    HIERARCHICAL,
    HIERARCHICAL_TABLE,
    core_probe,
    is_recorded,
    network_plan,
    shape,
)
from predictor.registry import predictor

DATA = Path(__file__).parents[2] / "apps" / "data"


def rows(name):
    with open(DATA / name, newline="") as file:
        return [row for row in csv.DictReader(file) if row["bench"] in exchanging_names()]


def params(app, preset):
    return dict(problem(app, preset).params)


def test_operations_are_the_official_ones():
    official = [row for row in rows("npb-flops.csv") if row["class"] in "SWABC"]
    assert {row["bench"] for row in official} == set(exchanging_names())
    for row in official:
        counted = exchanging(row["bench"]).operations(params(row["bench"], row["class"]))
        assert counted / 1e6 == pytest.approx(float(row["mop_total"]), rel=1e-9)


@pytest.mark.parametrize(("app", "rel"), [("cg", 2e-4), ("mg", 4e-3), ("lu", 1e-12), ("bt", 1e-12), ("sp", 1e-12)])
def test_bytes_between_nodes_of_one_rank_are_the_official_ones(app, rel):
    iterations = {"mg": "nit", "lu": "itmax"}.get(app, "niter")
    official = [row for row in rows("npb-traffic.csv") if row["bench"] == app]
    assert len(official) > 10
    for row in official:
        values = params(app, row["class"])
        sent = int(row["iter_p2p_bytes_total"]) - int(row["iter_self_bytes_total"])
        assert exchanging(app).exchanged_bytes(values, int(row["procs"])) == pytest.approx(
            sent * values[iterations], rel=rel
        )


@pytest.mark.parametrize("app", ["bt", "sp"])
@pytest.mark.parametrize("nodes", [2, 6, 12, 27, 30])
def test_bytes_of_tiles_are_those_that_the_kernel_sends_on_other_numbers_of_nodes(app, nodes):
    # Declared traffic is the kernel's own (tests/apps/traffic/test_traffic.py).
    values, sent = params(app, "C"), traffic(problem(app, "C"), nodes).totals(1)
    assert exchanging(app).exchanged_bytes(values, nodes) == pytest.approx(
        sent.bytes.sum() * values["niter"], rel=1e-12
    )
    # All messages of a rank but those of the halo wait for each other.
    neighbours = 2 * sum(side > 1 for side in cut_for(nodes).cuts)
    assert exchanging(app).messages(values, nodes) == (sent.messages.max() - neighbours + 1) * values["niter"]


def test_bytes_of_transpositions_are_the_official_ones_less_what_stays():
    # An alltoall's bytes of a rank hold its own block, one of P; FT transposes once more at the start.
    for row in (row for row in rows("npb-traffic.csv") if row["bench"] == "ft"):
        values, P = params("ft", row["class"]), int(row["procs"])
        sent = int(row["iter_alltoall_bytes_rank"]) * (P - 1) * (values["niter"] + 1)
        assert exchanging("ft").exchanged_bytes(values, P) == pytest.approx(sent, rel=1e-12)


@pytest.mark.parametrize("app", exchanging_names())
def test_one_node_exchanges_nothing(app):
    values = params(app, "S")
    assert exchanging(app).exchanged_bytes(values, 1) == 0
    assert exchanging(app).messages(values, 1) == 0


def test_a_kernel_s_surface_by_hand():
    # bwGRiD: l_c / b_cl = 85/14; q p / beta = 8 with beta = p.  EP, 2^29 numbers, fetches nothing and sums 96 bytes.
    system = table_cluster("bwGRiD")
    # The sums are log2 16 messages, one after the other, of 3 us each.
    sums = 85 / 14 * 8 * 96 * 16 * 4 / 2**29 + 8 * 16 * 8.5e9 * 3e-6 * 12 / 2**29
    assert exchanging("ep").surface(params("ep", "A"), system).efficiency(8, 16) == pytest.approx(1 / (1 + sums))
    # IS, class S, on 2 nodes, ten times: half of the keys, and a vector of bucket sizes there and back over the link of
    # the first node; counts, keys, and the sum there and back are four messages.
    moved, latency = 10 * (4 * 65536 / 2 + 2 * 2 * 4 * (512 + 5)), 10 * 4 * 3e-6
    memory, network = 17 / 12 * 28 * 8, 85 / 14 * 8 * moved / (10 * 65536) + 2 * 8 * 8.5e9 * latency / (10 * 65536)
    surface = exchanging("is").surface(params("is", "S"), system)
    assert surface.efficiency(8, 2) == pytest.approx(1 / (1 + memory + network), rel=1e-12)


def cluster(nodes, speeds=(2e9,), cores=4):
    parts = tuple(
        Cluster(f"c{c}", tuple(Host(f"c{c}-{i}", speed, cores) for i in range(nodes))) for c, speed in enumerate(speeds)
    )
    return Platform("cluster", "/nowhere.xml", f"{nodes}{speeds}", parts)


def broker(targets, record_of, *, itself_s=0.0):
    """Answer requests: cores of 0.5 Gflop/s; 1 GB/s and 2 us between two nodes, half of it for all nodes at once."""

    def measured(plan):
        times_s = []
        for one in plan.experiments:
            first = one[0]
            if first.source == first.destination:
                times_s.append((itself_s,))
            else:
                share = 2 if len(one) > 1 else 1
                times_s.append(tuple(4e-6 + share * (e.size_bytes - 1) / 1e9 for e in one))
        return Measurement(tuple(times_s), node_s=0.125, wall_s=0.5)

    def run(spec):
        return record_of(spec.target, time_s=8.0, flops=4e9)

    return Broker(Settings(), targets, record=run, measure=measured, identify=lambda spec: spec.identity())


def target(app="ft", *, nodes=4, ranks_per_host=1, preset="A", platform=None):
    platform = platform or cluster(nodes)
    return Target(problem(app, preset), platform, block(platform, nodes * ranks_per_host, ranks_per_host))


def answer(asked, record_of, by=HIERARCHICAL, **more):
    return predict(by, [asked], broker([asked], record_of, **more))[0]


def test_a_prediction_is_eq_3(record_of):
    found = answer(target(), record_of).prediction
    op = exchanging("ft").operations(params("ft", "A"))
    # 0.5 Gflop/s on 4 cores; 7 transpositions of 256 x 256 x 128 points, 3/4 leave; 4 nodes get 2 x 1 GB/s together.
    assert found.parts["compute_s"] == pytest.approx(op / 2e9)
    # Besides, each of the 7 waits three times for 2 us, and 6 checksums take a few latencies.
    assert found.parts["comm_s"] == pytest.approx(7 * 16 * 256 * 256 * 128 * 3 / 4 / 2e9 + 21 * 2e-6, rel=5e-4)
    assert found.time_s == pytest.approx(sum(found.parts.values()))
    assert found.flags == ()
    assert found.cost.node_s == 8 + 0.125
    assert len(found.evidence) == 2


def test_kernels_of_the_paper_s_table_are_eq_3_with_its_numbers(record_of):
    # HPL, n = 3000, 1 core of each of 4 nodes: #op = 2/3 n^3 at 0.5 Gflop/s; #x = (1 + log2(4) / 12) n^2 8 bytes, and
    # beta = 1: at 1 GB/s, though 4 nodes get 2 GB/s together.
    platform = cluster(4)
    asked = Target(sized_problem("hpl", 3000), platform, block(platform, 4, 1))
    found = answer(asked, record_of, HIERARCHICAL_TABLE).prediction
    assert found.parts["compute_s"] == pytest.approx(2 / 3 * 3000**3 / 4 / 0.5e9)
    assert found.parts["comm_s"] == pytest.approx(7 / 6 * 3000**2 * 8 / 1e9, rel=1e-6)
    assert found.flags == ()
    # Two cores of each take turns at the link.
    shared = Target(sized_problem("hpl", 3000), platform, block(platform, 8, 2))
    two = answer(shared, record_of, HIERARCHICAL_TABLE).prediction
    assert two.parts["comm_s"] == pytest.approx(2 * found.parts["comm_s"])
    assert any("exchanges between the cores of a node" in flag for flag in two.flags)
    # SUMMA: 2 n^2 sqrt(p) 8 bytes, beta = p, of which no more than the 2 that were seen count.
    asked = Target(sized_problem("summa", 3000), platform, block(platform, 4, 1))
    found = answer(asked, record_of, HIERARCHICAL_TABLE).prediction
    assert found.parts["comm_s"] == pytest.approx(2 * 3000**2 * 2 * 8 / 2e9, rel=1e-6)


def test_the_table_has_no_other_programs(record_of):
    found = answer(target(), record_of, HIERARCHICAL_TABLE)
    assert found.prediction is None
    assert "no program of the paper's table" in found.refusal


def test_kernels_are_counted(record_of):
    # HPL, n = 3000, a row of 4 ranks on nodes of their own: no pivot is searched among ranks, so few messages wait.
    platform = cluster(4)
    asked = Target(sized_problem("hpl", 3000), platform, block(platform, 4, 1))
    found = answer(asked, record_of).prediction
    # The ranks that factorise a panel keep the others waiting: more than a quarter of the operations each.
    ideal_s = (2 / 3 * 3000**3 + 2 * 3000**2) / 4 / 0.5e9
    assert 1.02 * ideal_s < found.parts["compute_s"] < 1.1 * ideal_s
    # Two messages for each of the 47 panels, of 3000^2 / 2 numbers in all; at 0.5 GB/s for each of 4 nodes.
    assert found.parts["comm_s"] == pytest.approx(2 * 3000**2 / 2 * 8 / 0.5e9, rel=0.05)
    assert found.flags == ()
    ahead = Target(sized_problem("hpl", 3000, depth=1, broadcast="long"), platform, block(platform, 4, 1))
    flags = answer(ahead, record_of).prediction.flags
    assert flags == ("the broadcast is counted as ring", "the look-ahead, which saves time, is left out")
    mixed = Target(sized_problem("summa", 3000), platform, tuple(platform.hosts[i].name for i in (0, 1, 2, 3) * 2))
    assert "placed node after node" in answer(mixed, record_of).prediction.flags[0]
    two = Target(sized_problem("fft", 2**16), platform, block(platform, 4, 1))
    # Three all-to-alls of 16 byte per point, of which 3/4 leave: 48 N 3/4 / 4 byte over each link of 0.5 GB/s.
    assert answer(two, record_of).prediction.parts["comm_s"] == pytest.approx(9 * 2**16 / 0.5e9 + 3 * 2e-6, rel=0.02)


def test_the_probe_of_a_free_size_is_an_eighth_of_it():
    platform = cluster(4)
    asked = Target(sized_problem("hpl", 3000, grid_rows=2, nb=32), platform, block(platform, 4, 1))
    probe = core_probe(asked)
    assert (probe.problem, probe.nranks) == (sized_problem("hpl", 375, nb=32), 1)
    # The target's own run is never evidence.
    smallest = Target(sized_problem("dot", 1), platform, block(platform, 1, 1))
    assert core_probe(smallest).problem.size == 2


def test_messages_within_a_node_count_where_they_take_as_long(record_of):
    asked = target(nodes=2, ranks_per_host=4)
    free, costly = (answer(asked, record_of, itself_s=s).prediction for s in (1e-6, 4e-3))
    assert free.parts["compute_s"] == costly.parts["compute_s"]
    # Of 2 nodes a half leaves, of 8 ranks seven eighths.
    assert costly.parts["comm_s"] / free.parts["comm_s"] == pytest.approx(7 / 4, rel=1e-3)


def test_one_node_needs_no_network(record_of):
    asked = target(nodes=1)
    assert network_plan(asked, shape(asked)) is None
    assert answer(asked, record_of).prediction.parts["comm_s"] == 0


def test_a_wave_of_lu_is_counted(record_of):
    # LU class S, 12 points, on a row of 4 x 4 ranks: a sweep of 10 planes takes 16 stages.
    found = answer(target("lu", nodes=16, preset="S"), record_of).prediction
    op = exchanging("lu").operations(params("lu", "S"))
    assert 1.2 < found.parts["compute_s"] / (op / 16 / 0.5e9) < 2.2


def test_the_probe_is_the_smallest_class_that_is_not_asked_about():
    # With the iterations of the target, so that a number of them that is asked for exists.
    probe = core_probe(target("cg", preset="B"))
    assert (dict(probe.problem.params)["na"], dict(probe.problem.params)["niter"], probe.nranks) == (1400, 75, 1)
    assert dict(core_probe(target("cg", preset="S")).problem.params)["na"] == 7000


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda: target(platform=cluster(2, (2e9, 2e9)), nodes=4), "several clusters"),
        (lambda: Target(problem("cg", "S"), cluster(2), ("c0-0", "c0-0", "c0-1")), "different numbers of ranks"),
        (lambda: Target(problem("cg", "S"), cluster(2), ("c0-0",) * 5), "more ranks on a node than cores"),
        (lambda: Target(sized_problem("fft", 64), cluster(4), ("c0-0", "c0-1", "c0-2")), "does not run on 3 ranks"),
    ],
)
def test_what_the_model_is_not_made_for_is_out_of_range(asked, said, record_of):
    asked = asked()
    found = answer(asked, record_of)
    assert found.prediction is None
    assert said in found.refusal
    assert HIERARCHICAL.requests([asked]) == []
    with pytest.raises(OutOfRange):
        HIERARCHICAL.fit([]).predict(asked)


def test_a_program_of_one_s_own_is_recorded(tmp_path):
    source = tmp_path / "mine.c"
    source.write_text("int main(void) { return 0; }")
    program = UserProgram("mine", "0" * 64, (), None, source)
    platform = cluster(2)
    asked = Target(own_problem(program), platform, block(platform, 2))
    assert [one.kind for one in HIERARCHICAL.requests([asked])] == ["recording", "exchange"]
    assert HIERARCHICAL_TABLE.requests([asked]) == []
    recorded = {name: is_recorded(sized_problem(name, 64)) for name in ("fem", "himeno", "hpl", "summa", "fft", "dot")}
    assert recorded == {"fem": True, "himeno": True, "hpl": False, "summa": False, "fft": False, "dot": False}
    assert not any(is_recorded(problem(name, "S")) for name in ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp"))


def test_it_is_found_by_its_name():
    assert predictor("hierarchical") is HIERARCHICAL
    assert predictor("hierarchical:table") is HIERARCHICAL_TABLE


def test_grids_of_cg_for_other_numbers_of_nodes_are_about_square():
    # k R^2 with k = 1, 2 or 3: 12 = 3 * 2^2, 2 groups of 6 nodes; 7 has no such form, so 3 groups of 7 / 3 nodes.
    params = {"na": 1400, "niter": 15}
    for p, groups, each in ((12, 2, 6), (7, 3, 7 / 3)):
        logs = math.log2(each)
        assert exchanging("cg").messages(params, p) == pytest.approx(15 * (26 * (logs + 1) + 53 * logs))
        moved = 15 * (26 * 8 * 1400 * (groups * logs + groups - 1) + 53 * 8 * p * logs)
        assert exchanging("cg").exchanged_bytes(params, p) == pytest.approx(moved)
