"""``gridval plan cores`` with formulas of one's own, the paper's parameters, the flat cluster and latency."""

import json

import pytest

from predictor.hierarchical.cli import main

UNI = ["--system", "bwUniCluster"]  # l_c 15.4 Gflop/s, b_m 77 GB/s, b_cl 5.4 GB/s, 3 us
MATRIX = ["--operations", "2 n^3 - n^2", "--bytes", "2 n^2 w", "--n", "20000"]


@pytest.fixture
def ask(capsys):
    def asked(*arguments):
        assert main([*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return asked


def test_formulas_of_the_table_give_the_answer_of_the_table(ask):
    allocation = ["--cores-per-node", "4", "--nodes", "9"]
    table = ask(*UNI, "--app", "matrix-product", "--n", 20000, "--variant", "derived", *allocation)
    own = ask(*UNI, *MATRIX, "--exchange", "2 n^2 p^(1/2) w", "--beta", "p/q", *allocation)
    for key in ("speedup", "efficiency", "time_s", "optimum_cores_per_node", "optimum_nodes"):
        assert own[key] == pytest.approx(table[key]) if isinstance(own[key], float) else own[key] == table[key]


def test_the_parameters_of_the_paper_by_hand(ask):
    # a = #op / #b = (2 n - 1) / (2 w) = 2499.94; a* = 15.4 / 77; r = 1 / sqrt(p) = 1/3; v = 5.4 / 77.
    own = ask(*UNI, *MATRIX, "--exchange", "2 n^2 p^(1/2) w", "--cores-per-node", "4", "--nodes", "9")
    found = own["parameters"]
    assert found["a_flop_per_byte"] == pytest.approx(39999 / 16)
    assert found["a_star_flop_per_byte"] == pytest.approx(0.2)
    assert found["x"] == pytest.approx(39999 / 16 / 0.2)
    assert found["r"] == pytest.approx(1 / 3) and found["v"] == pytest.approx(5.4 / 77)
    # 1 / eta = 1 + q / x + q p / (beta v r x), beta = p.
    x = found["x"]
    assert 1 / own["efficiency"] == pytest.approx(1 + 4 / x + 4 / (5.4 / 77 / 3 * x))


def test_numbers_without_a_size_and_a_ratio_that_grows_with_x(ask):
    # x = (1e9 / 8e8) / 0.2 = 6.25; r = 2 x / p = 12.5 / 8: #x = 8e8 x 8 / 12.5.
    found = ask(*UNI, "--operations", "1e9", "--bytes", "8e8", "--ratio", "2 x p^(-1)", "--nodes", 8)
    assert found["parameters"]["x"] == pytest.approx(6.25)
    assert found["parameters"]["exchanged_bytes"] == pytest.approx(8e8 * 8 / 12.5)
    assert found["parameters"]["r"] == pytest.approx(12.5 / 8)


def test_messages_cost_a_latency_each(ask):
    asked = ["--operations", "1e9", "--bytes", "0.5", "--exchange", "1", "--cores-per-node", 1, "--nodes", 8]
    without, with_them = ask(*UNI, *asked), ask(*UNI, *asked, "--messages", "100 log2(p)")
    assert with_them["time_s"] - without["time_s"] == pytest.approx(300 * 3e-6, rel=1e-6)
    assert "latency" in without["cautions"][0] and "latency" not in with_them["cautions"][0]


def test_the_flat_cluster_has_one_core_on_each_node(ask):
    # By (5) with q = 1, beta = p: 1 / eta = 1 + 1 / x + 1 / (v r x), r = 1 / sqrt(p).
    found = ask(*UNI, *MATRIX, "--exchange", "2 n^2 p^(1/2) w", "--flat", "--nodes", 64)
    x = 39999 / 16 / 0.2
    assert (found["cores_per_node"], found["system"]) == (1, "bwUniCluster, flat")
    assert 1 / found["efficiency"] == pytest.approx(1 + 1 / x + 8 / (5.4 / 77 * x))


def test_nas_kernels_wait_for_their_messages(ask):
    # CG, class A, on 32 nodes in a grid of 4 x 8: 15 x (26 x 4 + 53 x 3) messages of 3 us; simulated 22.6 ms.
    found = ask(*UNI, "--app", "cg", "--class", "A", "--cores-per-node", 1, "--nodes", 32)
    latency_s = 15 * (26 * 4 + 53 * 3) * 3e-6
    assert latency_s < found["time_s"] == pytest.approx(22.6e-3, rel=0.02)


def test_measured_runs_stand_beside_the_model(ask, tmp_path, capsys):
    # Without bytes one core takes 1e9 / 15.4e9 s; two are twice as fast by the model, measured 1.6 times.
    path = tmp_path / "runs.csv"
    path.write_text(f"# by hand\ncores_per_node,nodes,time_s,speedup\n1,1,{1e9 / 15.4e9},\n2,1,,1.6\n")
    asked = ["--operations", "1e9", "--bytes", "0.001", "--exchange", "0.001", "--measured", str(path)]
    first, second = ask(*UNI, *asked)["measured"]
    assert first["measured"] == pytest.approx(1) and first["error_pct"] == pytest.approx(0, abs=1e-6)
    assert second["modelled"] == pytest.approx(2) and second["error_pct"] == pytest.approx(25)
    path.write_text("cores_per_node,nodes,time_s\n1,1,x\n")
    assert main([*UNI, *asked]) == 2
    assert "runs.csv:2: time_s is 'x'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--operations", "1"], "--bytes is not given"),
        (["--bytes", "1"], "--operations is not given"),
        (["--operations", "1", "--bytes", "1"], "neither --exchange nor --ratio"),
        (["--operations", "1", "--bytes", "1", "--exchange", "1", "--ratio", "x"], "both --exchange and --ratio"),
        (["--operations", "n", "--bytes", "1", "--exchange", "1"], "--n: not given"),
        (["--operations", "y", "--bytes", "1", "--exchange", "1"], "--operations y: it has y. Known here: n"),
        (["--operations", "__import__", "--bytes", "1", "--exchange", "1"], "no formula"),
        (["--operations", "2 *", "--bytes", "1", "--exchange", "1"], "no formula"),
        (["--operations", "1", "--bytes", "1", "--ratio", "x + 1"], "a sum"),
        (["--operations", "1", "--bytes", "1", "--exchange", "1", "--app", "cg"], "--app: does not go with formulas"),
        (["--operations", "0", "--bytes", "1", "--exchange", "1"], "it has no operations"),
    ],
)
def test_wrong_formulas_are_refused_in_one_line(more, said, capsys):
    assert main([*UNI, *more]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1
