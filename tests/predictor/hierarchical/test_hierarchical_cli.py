"""``gridval plan cores``: answers, systems, batch lines, figures, and bad input."""

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from matplotlib.image import imread

from platforms.grids.scenario import NAMED, named_grid
from platforms.system.description import read_system
from predictor.hierarchical.allocation import wall_time_s
from predictor.hierarchical.cli import main
from predictor.hierarchical.multicore_cluster import hardware_table, read_cluster
from predictor.hierarchical.surface import PRINTED_TABLE

OWN = """
source = "by hand"
core_gflops = 33.1
memory_gbyte_s = 89
network_gbyte_s = 3
cores_per_node = 16
nodes = 100
batch = "slurm"
"""


@pytest.fixture
def ask(capsys):
    def asked(*arguments):
        assert main([*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return asked


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(OWN)
    return path


def test_speedup_of_hpl_by_eq_8(ask):
    # n = 20000, q = 4, p = 8, log2 p = 3: see test_eq_8_by_hand_printed_and_derived.
    for variant, network in (("printed", 4380.444 + 1739.294), ("derived", 4380.444 + 1095.111)):
        found = ask(
            *"--system bwUniCluster --app hpl --n 20000 --cores-per-node 4 --nodes 8".split(), "--variant", variant
        )
        efficiency = 20000 / (20000 + 19.2 + network)
        assert found["efficiency"] == pytest.approx(efficiency, rel=1e-6)
        assert found["speedup"] == pytest.approx(32 * efficiency, rel=1e-6)
        assert found["time_s"] == pytest.approx(2 / 3 * 20000**3 / 15.4e9 / (32 * efficiency), rel=1e-6)
        assert found["variant"] == variant


def test_the_best_and_the_smallest_by_trying_all(ask):
    common = "--system bwGRiD --app matrix-product --n 3000 --most-nodes 12 --variant derived".split()
    found = ask(*common)
    every = {
        (q, p): ask(*common, "--cores-per-node", str(q), "--nodes", str(p))["speedup"]
        for q in (1, 2, 3, 4, 5, 6, 7, 8)
        for p in (1, 6, 11, 12)
    }
    best = max(every, key=every.get)
    assert (found["best_cores_per_node"], found["best_nodes"]) == best
    assert found["best_speedup"] == pytest.approx(every[best])
    # Without numbers of cores and nodes the answer is about the best allocation.
    assert (found["cores_per_node"], found["nodes"], found["speedup"]) == (*best, found["best_speedup"])
    smallest = found["smallest"]
    assert smallest["speedup"] >= 0.95 * found["best_speedup"]
    assert smallest["cores"] == smallest["cores_per_node"] * smallest["nodes"] <= best[0] * best[1]


def test_with_one_number_given_the_other_is_the_best_for_it(ask):
    found = ask(*"--system bwGRiD --app matrix-product --n 3000 --nodes 4 --variant derived".split())
    # q_E^2 = beta_1 v r x / p = v x / sqrt(p), x = 3/34 (n - 1/2): 30.87, of which 5 or 6 is the nearest.
    assert found["optimum_cores_per_node"]["value"] == pytest.approx((7 / 30 * 3 / 34 * 2999.5 / 2) ** 0.5)
    assert (found["nodes"], found["cores_per_node"]) in ((4, 5), (4, 6))


def test_side_by_side_is_quicker_and_another_beta_is_taken(ask):
    common = "--system bwGRiD --app matrix-product --n 500 --cores-per-node 8 --nodes 4 --variant derived".split()
    assert ask(*common, "--scaling", "overlap")["speedup"] > ask(*common)["speedup"]
    # By hand: x = 3/34 499.5; q p / beta = 8 with beta = p, and sqrt(p) 30/7 besides.
    x = 3 / 34 * 499.5
    found = ask(*common, "--beta", "p")
    assert found["efficiency"] == pytest.approx(x / (x + 8 + 8 * 2 * 30 / 7))
    half = ask(*common, "--beta", "p", "--beta0", "0.5")
    assert half["efficiency"] == pytest.approx(x / (x + 8 + 2 * 8 * 2 * 30 / 7))


def test_moab_lines_of_the_smallest_allocation(capsys):
    assert main("--system bwGRiD --app hpl --n 100000 --most-nodes 10".split()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].startswith("#MSUB -l nodes=")
    assert lines[-1].startswith("#MSUB -l walltime=")


def test_a_time_that_no_job_may_have_gets_no_lines(ask, capsys):
    # Ten years and a fifth more is too long; of eight it is 9.6 years.
    year_s = 365 * 86_400
    assert (wall_time_s(10 * year_s, 0.2), wall_time_s(8 * year_s, 0.25)) == (None, 10 * year_s)
    arguments = "--system bwGRiD --app hpl --n 1000000000000 --variant derived".split()
    found = ask(*arguments)
    assert (found["wall_time_s"], found["batch_script"]) == (None, [])
    assert main(arguments) == 0
    assert "no batch script" in capsys.readouterr().out


def test_the_printed_formula_that_was_taken_is_named(ask, capsys):
    arguments = (
        "--system bwUniCluster --app matrix-product --n 20000 --beta 1/q --variant printed "
        "--nodes 64 --cores-per-node 4"
    ).split()
    found = ask(*arguments)["optimum_nodes"]
    # W = 0.070 (20000 / 8 / 0.20) / 4^3 = 13.67: see test_p_E_as_the_table_prints_it_for_all_three_d.
    assert found == {"value": pytest.approx(142.98, abs=0.01), "why": "", "formula": PRINTED_TABLE["sqrt(p)"]}
    assert main(arguments) == 0
    assert "printed formula p_E = (2 W)^(3/2), W = (beta_0 / q^2) w(x): p_E = 143" in " ".join(
        capsys.readouterr().out.split()
    )


def test_a_system_file_of_equal_nodes_is_a_machine(ask, tmp_path):
    path = tmp_path / "levels.toml"
    unit = 'cpu = "core-i7-2600k"\n'
    path.write_text(f'[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\nname = "a"\ncount = 32\n{unit}')
    system = read_cluster(str(path), memory_gbyte_s=20)
    (group,) = read_system(path).groups
    assert (system.cores, system.nodes, system.memory_Bps) == (group.unit.cores, 32, 20 * 10**9) == (4, 32, 20 * 10**9)
    assert (float(system.core_flops), float(system.network_Bps)) == (group.unit.speed_flops, 125e6)
    half = read_cluster(str(path), memory_gbyte_s=20, efficiency=0.5)
    assert half.core_flops == system.core_flops / 2
    arguments = ("--system", str(path), *"--memory 20 --app hpl --n 100".split())
    assert any("--efficiency" in caution for caution in ask(*arguments)["cautions"])
    assert not any("--efficiency" in caution for caution in ask(*arguments, "--efficiency", "0.9")["cautions"])


@pytest.mark.parametrize(
    ("lan", "said"),
    [
        ('[[lan.node]]\nname = "a"\ncpu = "core-i7-2600k"\n', "says nothing of the bandwidth of a node's memory"),
        ('[[lan.node]]\ncpu = "core-i7-2600k"\n[[lan.node]]\ncpu = "xeon-e5-1620"\n', "2 groups of units"),
    ],
)
def test_other_system_files_are_refused(lan, said, tmp_path, capsys):
    path = tmp_path / "levels.toml"
    path.write_text(f'[lan]\nnetwork = "gigabit-ethernet"\n{lan}')
    assert main(["--system", str(path), "--app", "hpl", "--n", "100"]) == 2
    assert said in capsys.readouterr().err


def test_what_cannot_be_searched_is_refused_at_once(own, capsys):
    own.write_text(OWN.replace("nodes = 100", "nodes = 1000000").replace("= 16", "= 10000"))
    assert main(["--system", str(own), *"--app hpl --n 100 --variant derived".split()]) == 2
    assert "Give --most-nodes, at most 2000." in capsys.readouterr().err
    # Messages are counted for every pair of q and p.
    assert main(["--system", str(own), "--app", "hpl", "--n", "100"]) == 2
    assert "Give --most-nodes, at most 2." in capsys.readouterr().err
    # #x of a kernel is found node number by node number.
    assert main(["--system", str(own), *"--app mg --class C --most-nodes 20001".split()]) == 2
    own.write_text(OWN.replace("nodes = 100", "nodes = 1000000"))
    assert main(["--system", str(own), *"--app mg --class C".split()]) == 2
    assert "at most 20000" in capsys.readouterr().err


def test_unknown_machines_are_told_the_near_ones_once(capsys):
    assert main("--system bwUniClustr --app hpl --n 10".split()) == 2
    assert capsys.readouterr().err.count("bwUniCluster") == 1


def test_a_system_of_one_s_own(ask, own):
    system = read_cluster(str(own))
    # The decimal of the file, exactly.
    assert (system.name, system.a_star) == ("mine", Fraction(331, 890))
    assert (system.v, system.cores, system.nodes) == (Fraction(3, 89), 16, 100)
    found = ask("--system", str(own), "--app", "fft", "--n", "4096", "--whole-nodes")
    assert found["system"] == "mine"
    assert found["batch_script"][-1] == "#SBATCH --exclusive"


def test_memory_that_never_limits_leaves_the_network_alone(ask, own):
    own.write_text(OWN.replace("89", "inf"))
    found = ask(*f"--system {own} --app hpl --n 9000 --cores-per-node 2 --nodes 4 --variant derived".split())
    # 1 / eta = 1 + (l_c / b_cl) q^2 p #x / #op, #x = gamma n^2 w, gamma = 7/6.
    network = 33.1 / 3 * 16 * (7 / 6 * 9000**2 * 8) / (2 / 3 * 9000**3)
    assert found["efficiency"] == pytest.approx(1 / (1 + network))


def test_the_paper_s_machines_are_scenarios_too():
    for row in hardware_table():
        name = row.system.name.replace(" ", "")
        assert name in NAMED
        grid = named_grid(name)
        (cluster,) = grid.clusters
        assert (cluster.nodes, cluster.cores) == (row.system.nodes, row.system.cores)
        assert cluster.speed_flops == pytest.approx(float(row.system.core_flops), rel=1e-12)
        assert cluster.node.bandwidth_Bps == pytest.approx(float(row.system.network_Bps), rel=1e-12)
        # MPI gets all of the bandwidth, which the paper measured by MPI; all nodes can send at once.
        assert dict(grid.options)["smpi/bw-factor"] == "0:1"
        assert cluster.backbone.bandwidth_Bps >= cluster.nodes * cluster.node.bandwidth_Bps * (1 - 1e-12)


def test_a_machine_is_known_in_small_letters_and_without_the_space():
    assert read_cluster("bwforhlr1") == read_cluster("bwForHLR 1") == read_cluster("BWFORHLR-1")


def test_a_scenario_and_a_scenario_file_are_systems(ask, tmp_path):
    found = ask(
        *"--system li-2 --memory 2 --app matrix-product --n 100 --cores-per-node 1 --nodes 4 --variant derived".split()
    )
    # 3.2 Gflop/s over 2 GB/s: x = 99.5 / 16 / 1.6; v = 0.0125 / 2; beta_1 = p: sqrt(p) / v.
    x = 99.5 / 8 / 1.6
    assert found["efficiency"] == pytest.approx(x / (x + 1 + 2 * 160))
    path = tmp_path / "scenario.toml"
    path.write_text("[[clusters]]\nnodes = 8\nspeed_gflops = 3.2\nnode = { bandwidth_gbit_s = 0.1 }\n")
    again = ask(
        "--system",
        str(path),
        *"--memory 2 --app matrix-product --n 100 --cores-per-node 1 --nodes 4 --variant derived".split(),
    )
    assert again["efficiency"] == pytest.approx(found["efficiency"])


def test_the_derivation_says_what_does_not_follow(ask, capsys):
    found = ask("--derivation")["findings"]
    assert {one["where"] for one in found if one["verdict"] == "does not follow"} == {
        "application table, lin eq", "eq. (4), (5)", "eq. (5) simplified", "eq. (8)", "optimum q_E", "optimum p_E",
        "table of p_E",
    }  # fmt: skip
    assert main(["--derivation"]) == 0
    assert "77/17" in capsys.readouterr().out


def test_surfaces_are_drawn(capsys, tmp_path):
    path = tmp_path / "hpl.png"
    assert main([*"--system bwGRiD --app hpl --n 5000 --most-nodes 16 --figure".split(), str(path)]) == 0
    assert imread(path).std() > 0.01


@pytest.mark.slow
def test_the_paper_s_figures_are_drawn(capsys, tmp_path):
    assert main(["--figures", str(tmp_path / "figures")]) == 0
    names = {line.rpartition("/")[2] for line in capsys.readouterr().out.splitlines()}
    assert {f"equation-{number}.png" for number in (6, 7, 8, 9)} < names
    assert all(imread(tmp_path / "figures" / name).std() > 0.01 for name in names)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("", "--system: not given"),
        ("--system bwGRiD", "--app: not given"),
        ("--system bwGRiD --app hpl", "--app hpl: its size is not given"),
        ("--system bwGRiD --app lu", "--app lu: its class is not given"),
        ("--system bwGRiD --app lu --n 100", "--n 100: lu has classes"),
        ("--system bwGRiD --app hpl --class B", "--class B: hpl has a size"),
        ("--system bwGRiD --app lu --class Q", "class 'Q'"),
        ("--system bwGRiD --app hpl --n 0", "--n 0: hpl has no such size, not a size"),
        ("--system bwGRiD --app hpl --n 0 --variant derived", "n = 0: not a size"),
        ("--system bwGRiD --app fft --n 1000", "--n 1000: the kernel fft transforms powers of two"),
        ("--system bwGRiD --app fft --n 1024 --nodes 3", "--nodes 3: the kernel for fft does not run on that many"),
        ("--system bwGRiD --app hpl --n 10 --beta 1/q", "--beta 1/q: the variant counted has a link for every node"),
        ("--system bwGRiD --app linpack --n 10", "--app linpack: no such program"),
        ("--system bwGrit --app hpl --n 10", "system 'bwGrit': no such machine. Near: bwGRiD"),
        ("--system nowhere.toml --app hpl --n 10", "nowhere.toml: cannot be read"),
        ("--system grid4x2 --memory 5 --app hpl --n 10", "4 clusters"),
        ("--system li-1 --app hpl --n 10", "says nothing of the bandwidth of a node's memory"),
        ("--system li-1 --memory 1e-300 --app hpl --n 10", "--memory 1e-300: not a bandwidth of memory"),
        ("--system li-1 --memory 2 --efficiency 1.5 --app hpl --n 10", "--efficiency 1.5: not a share"),
        ("--system bwGRiD --efficiency 0.5 --app hpl --n 10", "--efficiency 0.5: goes with a scenario"),
        ("--system bwGRiD --app hpl --n 10 --margin 1e308", "--margin 1e+308: not a share"),
        ("--system bwGRiD --app hpl --n 10 --variant derived --beta 1/q --beta0 1e-300", "beta_0 1e-300"),
        ("--system li-1 --memory -1 --app hpl --n 10", "--memory -1: not a positive number"),
        ("--system bwGRiD --memory 5 --app hpl --n 10", "--memory 5: goes with a scenario"),
        ("--system bwGRiD --app hpl --n 10 --cores-per-node 9", "bwGRiD has 8 cores per node"),
        ("--system bwGRiD --app hpl --n 10 --nodes 141", "bwGRiD has 140 nodes"),
        ("--system bwGRiD --app hpl --n 10 --most-nodes 0", "--most-nodes 0"),
        ("--system bwGRiD --app hpl --n 10 --variant right", "variant 'right': no such variant"),
        ("--system bwGRiD --app cg --class S --variant printed", "the paper prints nothing of it"),
        ("--system li-1 --memory inf --app hpl --n 10 --variant printed", "as printed needs v"),
        ("--system bwGRiD --app hpl --n 10 --scaling linear", "--scaling linear"),
        ("--system bwGRiD --app hpl --n 10 --beta 1/p", "beta '1/p': no such choice"),
        ("--system bwGRiD --app hpl --n 10 --beta0 2", "--beta0 2: goes with --beta"),
        ("--system bwGRiD --app hpl --n 10 --within 1", "--within 1: not a share"),
        ("--system bwGRiD --app hpl --n 10 --margin -0.5", "--margin -0.5: not a share"),
        ("--system bwGRiD --app hpl --n 10 --batch lsf", "--batch lsf: no such batch system"),
        # This error is raised before anything is computed: the size is missing, too.
        ("--system bwGRiD --app hpl --figure a.exe", "no format for the ending 'exe'"),
        ("--system bwGRiD --app hpl --figure /no/where/a.png", "cannot be written"),
        ("--figures /proc/none", "cannot be written"),
    ],
)
def test_bad_input_is_one_line_and_status_2(arguments, said, capsys):
    assert main(arguments.split()) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("nodes = 100", ""), "'nodes' is missing"),
        (("nodes = 100", "nodes = 0"), "nodes = 0"),
        (("nodes = 100", "nodes = 1.5"), "not a whole number"),
        (("33.1", "-1"), "core_gflops = -1"),
        (("33.1", "inf"), "core_gflops = inf"),
        (("33.1", "1e-320"), "core_gflops = 9.99989e-321 is not from 1e-09"),
        (("nodes = 100", "nodes = 1000001"), "nodes = 1000001"),
        (("= 16", "= 10001"), "cores_per_node = 10001"),
        (("slurm", "pbs"), "no batch system 'pbs'"),
        (("memory_gbyte_s", "memory_gbit_s"), "unknown key 'memory_gbit_s'"),
        (("core_gflops = 33.1", "core_gflops ="), "not TOML"),
    ],
)
def test_a_system_file_is_read_key_by_key(change, said, own, capsys):
    own.write_text(OWN.replace(*change))
    assert main(["--system", str(own), "--app", "hpl", "--n", "100"]) == 2
    error = capsys.readouterr().err
    assert str(own) in error
    assert said in error


def test_the_package_shows_the_help():
    done = subprocess.run([sys.executable, "-m", "gridval", "plan", "cores", "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "--cores-per-node" in done.stdout


def test_help_needs_no_numpy():
    code = "import sys; from predictor.hierarchical.cli import COMMAND; COMMAND.parser(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "matplotlib", "lxml"} & set(loaded)


def cautions_about(found, words):
    return [caution for caution in found["cautions"] if words in caution]


def test_several_cores_of_each_node_and_thin_use_have_cautions(ask, capsys):
    # The advice is 1 of 16 cores on 512 nodes, or on 447 for 5 % less; 8 cores per node are asked for.
    arguments = "--system bwUniCluster --app hpl --n 20000 --cores-per-node 8 --nodes 32 --variant derived".split()
    found = ask(*arguments)
    (several,) = cautions_about(found, "several cores per node")
    assert "times may also be several times too long" in several
    (thin,) = cautions_about(found, "simulate fewer nodes")
    assert thin.startswith("1 of 16 cores on 512 nodes and 1 of 16 cores on 447 nodes: ")
    assert not cautions_about(found, "lower bound")
    assert main(arguments) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert f"caution: {several}" in shown and f"caution: {thin}" in shown


def test_one_core_of_one_node_is_neither_several_nor_thin(ask):
    found = ask(*"--system bwUniCluster --app hpl --n 10 --most-nodes 1 --variant derived".split())
    assert (found["best_cores_per_node"], found["best_nodes"]) == (1, 1)
    assert not cautions_about(found, "several cores per node")
    assert not cautions_about(found, "simulate fewer nodes")


def test_the_counts_are_the_default_and_have_cautions_of_their_own(ask):
    found = ask(*"--system bwUniCluster --app hpl --n 20000 --cores-per-node 8 --nodes 32 --most-nodes 64".split())
    assert found["variant"] == "counted"
    # HPL's published operations, over the ideal speed times the efficiency.
    assert found["time_s"] == pytest.approx(2 / 3 * 20000**3 / 15.4e9 / found["speedup"], rel=2e-4)
    assert cautions_about(found, "compared with simulations on up to 32 nodes")
    assert not cautions_about(found, "several cores per node")
    few = ask(*"--system bwUniCluster --app hpl --n 20000 --most-nodes 16".split())
    assert cautions_about(few, "an allocation uses all nodes")
    assert few["best_cores_per_node"] * few["best_nodes"] <= 256
    # n = 10 is a single panel: one core of one node is as fast as any.
    small = ask(*"--system bwUniCluster --app hpl --n 10 --most-nodes 4".split())
    assert (small["best_cores_per_node"], small["best_nodes"]) == (1, 1)


def test_an_fft_is_advised_powers_of_two(ask):
    found = ask(*"--system bwGRiD --app fft --n 256 --most-nodes 11".split())
    for one in (found["best_cores_per_node"] * found["best_nodes"], found["smallest"]["cores"]):
        assert one & (one - 1) == 0


def test_the_bytes_of_a_nas_kernel_are_those_of_whole_nodes(ask):
    found = ask(*"--system bwUniCluster --app ep --class B --most-nodes 2".split())
    assert (found["best_cores_per_node"], found["best_nodes"]) == (16, 2)
    (several,) = cautions_about(found, "several cores per node")
    assert "compact part" in several
    assert not cautions_about(found, "simulate fewer nodes")


JACOBI = Path(__file__).parents[3] / "examples" / "jacobi" / "jacobi.c"


def test_a_program_of_ones_own_is_counted_in_recordings(ask, own, computing):
    found = ask("--system", own, "--program", computing, "--program-args", "33.1e11", "--ranks", "1,4,6", "--no-store")
    # By hand: a core of the machine computes 33.1 Gflop/s, so that 33.1e11 operations take 100 s on one core; on six of
    # them a sixth, and a barrier of microseconds.
    assert found["counts"]["operations"] == pytest.approx(33.1e11)
    assert found["recorded_ranks"] == [1, 4, 6]
    assert found["best_cores_per_node"] * found["best_nodes"] == 6
    assert found["best_time_s"] == pytest.approx(100 / 6, rel=1e-3)
    assert found["speedup_over_one_core"] == pytest.approx(6, rel=1e-3)


def test_what_a_node_sends_is_that_of_the_recorded_messages(ask, own):
    words = ["--program", JACOBI, "--program-args", "400 {iterations} charged", "--program-iterations", "20"]
    found = ask("--system", own, *words, "--ranks", "2", "--cores-per-node", "1", "--nodes", "2", "--no-store")
    # By hand: each of two ranks sends an edge of 400 numbers and agrees on one, in each of 20 iterations; it does 6
    # operations for each of 400 x 400 points.
    assert found["counts"]["link_bytes"] == pytest.approx(20 * (400 * 8 + 8), rel=0.01)
    assert found["counts"]["operations"] == 20 * 6 * 400 * 400


def test_the_memory_of_a_recorded_program_is_that_of_the_option(ask, own, computing):
    asked = ["--system", own, "--program", computing, "--program-args", "33.1e11", "--ranks", "4", "--no-store"]
    fast = ask(*asked, "--cores-per-node", "4", "--nodes", "1")
    slow = ask(*asked, "--cores-per-node", "4", "--nodes", "1", "--bytes-per-flop", "2")
    # By hand: 6.62e12 bytes over a memory of 89 Gbyte/s, after 25 s of computation.
    assert fast["time_s"] == pytest.approx(25, rel=1e-3)
    assert slow["time_s"] == pytest.approx(25 + 6.62e12 / 89e9, rel=1e-3)
    assert any("#b is not known" in caution for caution in fast["cautions"])


def test_a_kernel_of_a_size_is_recorded_too(ask, own):
    found = ask(
        "--system", own, "--app", "himeno", "--size", "16", "--param", "niter=2", "--ranks", "1,2", "--no-store"
    )
    assert (found["app"], found["class"], found["recorded_ranks"]) == ("himeno", "16 niter=2", [1, 2])


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--program", "PROGRAM", "--program-args", "0", "--ranks", "1"], "it computes nothing in its recordings"),
        (["--program", "PROGRAM", "--program-args", "1e9", "--n", "3"], "--n 3: goes with the programs of the paper"),
        (["--program", "PROGRAM", "--program-args", "1e9", "--ranks", "1,2", "--nodes", "3"], "was recorded on 1, 2"),
        (["--app", "cg", "--class", "S", "--ranks", "4"], "--ranks: goes with a program that is recorded"),
    ],
)
def test_options_that_do_not_go_with_a_recorded_program_are_refused(words, reason, own, computing, capsys):
    named = [str(computing) if word == "PROGRAM" else word for word in words]
    assert main(["--system", str(own), *named]) == 2
    assert reason in " ".join(capsys.readouterr().err.split())
