"""The hierarchical model compared with simulations of its assumptions and of kernels with a memory bus."""

import csv
import json
import os
from pathlib import Path

import pytest

from apps.runs.runner import Runner
from predictor.hierarchical.model import BETAS, COUNTED, DERIVED, PRINTED, cluster_time_s, node_performance
from predictor.hierarchical.multicore_cluster import hardware_table, read_cluster, table_cluster
from validation.cores.cli import main
from validation.cores.communication import REGIONS, Study, kernel_flops, machine, region_errors, simulate_points
from validation.cores.search import ALL, search, search_json, search_table, search_text
from validation.cores.world import SIZES, TOLERANCE, WorldCase, model_time_s, simulate_world

# --- simulation of the model's assumptions ---


@pytest.mark.parametrize("overlap", [False, True])
def test_a_world_of_cores_memories_and_a_network_takes_the_times_of_the_model(overlap):
    system = table_cluster("bwGRiD")
    cases = [WorldCase(system, app, n, overlap=overlap) for app, n in SIZES.items()]
    points = simulate_world(cases, (1, 3, 8), (1, 5, 16))
    assert len(points) == 5 * 9
    assert max(abs(point.error) for point in points) < 1e-4  # the limit is 2 %; messages are rounded to whole bytes


def test_every_way_to_share_the_network_takes_the_times_of_the_model():
    system = table_cluster("bwUniCluster")
    cases = [WorldCase(system, "hpl", 20_000, beta) for beta in BETAS.values()]
    points = simulate_world(cases, (1, 4), (1, 9))
    assert max(abs(point.error) for point in points) < 1e-4
    assert len({point.simulated_s for point in points if (point.q, point.p) == (4, 9)}) == len(BETAS)


@pytest.mark.slow
def test_the_world_of_all_machines_is_within_2_percent_on_16_cores_of_64_nodes():
    for row in hardware_table():
        cases = [WorldCase(row.system, app, n, overlap=over) for app, n in SIZES.items() for over in (False, True)]
        points = simulate_world(cases, range(1, 17), (1, 2, 3, 7, 16, 33, 64))
        assert max(abs(point.error) for point in points) <= TOLERANCE


def test_the_models_time_is_that_of_eq_3():
    # Kredel, Kruse, Richling 2015: bwGRiD, matrix product with beta = p / q, by the paper's tables.
    system, q, p, n = table_cluster("bwGRiD"), 4, 9, 20_000
    op, b, x = 2 * n**3 - n**2, 2 * n * n * 8, 2 * n * n * 3 * 8
    l_m = node_performance(q, op / b / (8.5 / 6), 8.5e9)
    expected_s = cluster_time_s(op, x, p, l_m, 1.4e9 * p / q)
    assert model_time_s(WorldCase(system, "matrix-product", n), q, p) == pytest.approx(expected_s, rel=1e-12)


def test_without_a_memory_only_cores_and_network_take_time(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text("core_gflops = 10\nmemory_gbyte_s = inf\nnetwork_gbyte_s = 2\ncores_per_node = 4\nnodes = 8\n")
    system = read_cluster(str(path))
    (point,) = simulate_world([WorldCase(system, "hpl", 30_000)], (2,), (4,))
    # By hand: 2/3 n^3 on 8 cores; q #x over one network, #x = n^2 w (1 + 2/12) with alpha = 1/3.
    n = 30_000
    expected_s = 2 / 3 * n**3 / 8 / 10e9 + 2 * n * n * 8 * (1 + 2 / 12) / 2e9
    assert point.simulated_s == pytest.approx(expected_s, rel=1e-9)
    assert point.model_s == pytest.approx(expected_s, rel=1e-9)


# --- real communication ---


def study(app, n, cores, nodes, **how):
    with Runner(jobs=min(2, os.cpu_count() or 1)) as runner:
        return simulate_points(Study(table_cluster("bwUniCluster"), app, n, cores, nodes, **how), runner)


@pytest.fixture(scope="module")
def scalar_products():
    return study("scalar-product", 10**8, (1, 4, 16), (1, 2))


def test_a_scalar_product_in_a_node_is_eq_1(scalar_products):
    # Only computation and memory: ranks that start at the same time share one bus.
    for point in scalar_products:
        if point.p == 1:
            assert point.error(DERIVED) == pytest.approx(0, abs=1e-3)
            assert point.simulated.memory == pytest.approx(1.6 * point.q, rel=1e-3)  # q a* / a = q 15.4 / 77 * 8
            assert point.cause(DERIVED) == ""


def test_speed_ups_are_the_papers_quotients(scalar_products):
    for point in scalar_products:
        op = 2 * 10**8 - 1
        assert point.speedup == pytest.approx(op / point.record.time_s / 15.4e9)
        terms = point.simulated
        assert point.q * point.p / terms.inverse_efficiency == pytest.approx(point.speedup)
        assert point.model(DERIVED).inverse_efficiency == pytest.approx(
            point.q * point.p / point.model_speedup(DERIVED)
        )


def test_errors_are_told_by_region(scalar_products):
    found = region_errors(scalar_products)
    assert [(one.region, one.variant, one.points) for one in found] == [
        (region, variant, points)
        for region, points in zip(REGIONS, (1, 2, 1, 2), strict=True)
        for variant in (COUNTED, DERIVED, PRINTED)
    ]
    for one in found:
        own = [point.error(one.variant) for point in scalar_products if point.region == one.region]
        assert one.mean == pytest.approx(sum(own) / len(own))
        assert abs(one.largest) == max(map(abs, own))


def test_a_small_scalar_product_fails_by_latency_and_the_table_has_its_own_bytes():
    (point,) = study("scalar-product", 10**4, (1,), (4,))
    assert point.cause(DERIVED) == "latency"
    assert point.error(DERIVED) > 0.05
    # HPL declares the bytes of its panels; the paper counts one sweep over the matrix, 24 / n bytes per operation.
    declared, table = (study("hpl", 300, (2,), (1,), bytes_from=whose)[0] for whose in ("declared", "table"))
    assert declared.record.identity["bytes_per_flop"] == 0.125
    assert table.record.identity["bytes_per_flop"] == pytest.approx(24 / 300, rel=0.02)
    assert declared.simulated.memory > table.simulated.memory > 0


def test_messages_within_a_node_use_its_memory_or_its_link():
    memory, network = (study("matrix-product", 300, (4,), (1,), inside=way)[0] for way in ("memory", "network"))
    assert network.simulated.network > 5 * memory.simulated.network
    routes_differ = (
        machine(table_cluster("bwUniCluster"), 2),
        machine(table_cluster("bwUniCluster"), 2, inside="network"),
    )
    assert routes_differ[0].content_hash != routes_differ[1].content_hash
    assert routes_differ[0].hosts[0].memory_Bps == 77e9


def test_what_the_fft_counts_is_five_n_log_n():
    # N = n^2 = 16 points: 5 * 16 * 4.
    assert kernel_flops("fft", 4) == kernel_flops("fftw", 4) == 320


# --- counted operations, bytes and messages ---


@pytest.mark.parametrize(("app", "n"), [("hpl", 500), ("matrix-product", 400), ("fft", 256)])
def test_counts_are_right_on_one_core_of_each_node_and_within_a_node(app, n):
    # No link is shared there, so that little can go wrong.
    (flat,), (node,) = study(app, n, (1,), (4,)), study(app, n, (4,), (1,))
    assert abs(flat.error(COUNTED)) < 0.03
    assert abs(node.error(COUNTED)) < 0.06
    assert min(abs(flat.error(DERIVED)), abs(node.error(DERIVED))) > 0.06  # the table's rows, of the same program


def test_advice_is_compared_with_the_fastest_of_a_search():
    asked = Study(table_cluster("bwGRiD"), "matrix-product", 300, (1, 2), (1, 2, 4))
    with Runner(jobs=2) as runner:
        found = search(asked, runner)
    assert found.times_s[found.fastest] == min(found.times_s.values())
    assert {(q, p) for q in (1, 2) for p in (1, 2, 4)} <= set(found.times_s)
    for one in found.advice:
        assert one.loss >= 0
        assert one.time_s == found.times_s[one.place]
    (counted,) = [one for one in found.advice if (one.variant, one.among) == (COUNTED, ALL)]
    assert counted.loss <= 0.03
    assert "slower than the fastest" in search_text(found)
    assert len(search_table(found)) == len(search_json(found)["times"]) == len(found.times_s)


# --- the command ---


def test_the_command_writes_tables_and_a_surface(tmp_path, capsys):
    out = tmp_path / "out"
    options = "--app scalar-product --n 1000000 --cores 1,2 --nodes 1,2 --no-store --jobs 1"
    assert main([*options.split(), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "what fails" in said
    assert "several of each" in said
    with open(out / "scalar-product-1000000-bwUniCluster.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["cores_per_node"], row["nodes"]) for row in rows] == [("1", "1"), ("1", "2"), ("2", "1"), ("2", "2")]
    assert (out / "scalar-product-1000000-bwUniCluster.png").stat().st_size > 10_000


def test_the_command_checks_the_world(capsys):
    assert main("--system bwForCluster --cores 1,2 --nodes 1,2 --scaling overlap --json".split()) == 0
    found = json.loads(capsys.readouterr().out)
    points = found["points"]
    assert found["cautions"] == []  # no run of SMPI
    assert {point["scaling"] for point in points if point["app"] != "hpl"} == {"overlap"}
    assert max(abs(point["error_pct"]) for point in points) < 2


def test_the_command_tells_the_largest_error_of_every_case(tmp_path, capsys):
    options = "--system bwForCluster --cores 1,2 --nodes 1,2 --scaling overlap"
    assert main([*options.split(), "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    with open(tmp_path / "world.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    errors_pct = [abs(float(row["error_pct"])) for row in rows if row["app"] == "matrix-product"]
    (line,) = [line for line in said.splitlines() if line.split()[1:2] == ["matrix-product"]]
    assert [abs(float(cell)) for cell in line.split() if cell[0] in "+-"] == [round(max(errors_pct), 4)]
    assert said.splitlines()[-1].endswith(" %, within 2 %")
    assert max(map(len, said.splitlines())) <= 80 and "points" not in said
    assert main([*options.split(), "--wide"]) == 0
    assert "points" in capsys.readouterr().out.splitlines()[0]


def test_tables_say_the_same_as_json(tmp_path, capsys):
    options = f"--app scalar-product --n 1000000 --cores 1,2 --nodes 1 --jobs 1 --store {tmp_path / 'store'}".split()
    assert main([*options, "--json", "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    said = [line.removeprefix("caution: ") for line in printed.err.splitlines() if line.startswith("caution: ")]
    assert found["cautions"] == said
    with open(tmp_path / "out" / "scalar-product-1000000-bwUniCluster.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(found["points"]) == 2
    for row, point in zip(rows, found["points"], strict=True):
        assert {name: type(value)(row[name]) for name, value in point.items()} == point  # to the last digit
    assert main(options) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    for point in found["points"]:
        (line,) = [cells for cells in printed if cells[:2] == [str(point["cores_per_node"]), str(point["nodes"])]]
        assert line[2:4] == [f"{point['speedup']:.4g}", f"{point['counted_speedup']:.4g}"]
    assert (found["app"], found["n"], [point["nodes"] for point in found["points"]]) == (
        "scalar-product",
        10**6,
        [1, 1],
    )
    one, two = found["points"]
    assert two["speedup"] / one["speedup"] == pytest.approx(one["time_s"] / two["time_s"])  # the same operations
    assert {region["variant"] for region in found["regions"]} == {"counted", "printed", "derived"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--app hpl", "its size is not given"),
        ("--app linpack --n 10", "no such program of the paper's table"),
        ("--app fft --n 100", "transforms powers of two"),
        ("--app fft --n 64 --cores 3 --search", "runs on none of these"),
        ("--search", "--search: needs --app"),
        ("--app hpl --n 100 --cores 32", "bwUniCluster has 16"),
        ("--app hpl --n 100 --nodes 1,x", "not a list of whole numbers"),
        ("--app hpl --n 100 --nodes 9999", "--nodes 9999: bwUniCluster has "),
        ("--cores 0", "--cores 0: not a list of whole numbers from 1 on"),
        ("--app fft --n 64 --cores 3", "rule does not allow"),
        ("--app hpl --n 100 --bytes mine", "--bytes mine: no such choice"),
        ("--app hpl --n 100 --inside vacuum", "--inside vacuum: no such choice"),
        ("--n 100", "needs --app"),
        ("--system nowhere", "no such machine"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(refused, options, said):
    refused(main, options.split(), said)


def test_a_recorded_program_is_compared_on_all_allocations_of_its_ranks(tmp_path, capsys):
    source = Path(__file__).parents[3] / "examples" / "jacobi" / "jacobi.c"
    words = ["--system", "bwUniCluster", "--program", str(source), "--program-args", "4000 {iterations} charged"]
    words += ["--program-iterations", "5", "--ranks", "1,4", "--no-store", "--json", "--out", str(tmp_path)]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert {(point["cores_per_node"], point["nodes"]) for point in found["points"]} == {(1, 1), (1, 4), (2, 2), (4, 1)}
    for point in found["points"]:
        assert point["predicted_s"] == pytest.approx(point["simulated_s"], rel=0.02)
    # By hand: 6 operations for each of 4000 x 4000 points in 5 iterations, at 15.4 Gflop/s.
    (alone,) = [point for point in found["points"] if point["cores_per_node"] == point["nodes"] == 1]
    assert alone["simulated_s"] == pytest.approx(6 * 4000**2 * 5 / 15.4e9, rel=1e-3)
    assert found["advised"]["loss_pct"] < 1 and any(tmp_path.glob("jacobi*.csv"))
