"""The memory bus of --memory-bus: ranks of a node share the bandwidth of its memory."""

import json
from dataclasses import replace

import pytest

from apps.errors import KernelError, OptionError
from apps.programs.kernel import kernel_names
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem, sized_problem
from apps.run import main
from apps.runs.computation import with_work
from apps.runs.engines import run_identity, run_iterations
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.errors import PlatformError, UserError
from platforms.grids.scenario import named_grid, read_grid
from platforms.model.placement import block
from platforms.read.read import materialise, read_platform

SPEED, BUS = 15.4e9, 77e9  # bwUniCluster, Kredel, Kruse, Richling 2015: flop/s of a core, byte/s of a node


@pytest.fixture(scope="module")
def cluster():
    return materialise(named_grid("bwUniCluster"))


def spec(platform, asked, ranks, per_host=1, **how):
    return RunSpec(Target(asked, platform, block(platform, ranks, per_host)), **how)


@pytest.mark.parametrize("q", [1, 2, 5, 16])
def test_q_ranks_of_a_node_share_its_memory_as_in_eq_1(cluster, q):
    # Kredel, Kruse, Richling 2015, eq. (1): op / (q l_c) + b / b_m, with 8 bytes per operation of the scalar product.
    n = 10**9
    record = run_iterations(spec(cluster, sized_problem("dot", n), q, q, memory_bus=BUS), 1)
    op = 2 * n - 1
    by_hand_s = op / (q * SPEED) + 8 * op / BUS
    assert max(record.compute_s) == pytest.approx(by_hand_s, rel=2e-5)  # ranks leave the barrier one after the other
    if q == 1:
        assert record.compute_s[0] == pytest.approx(by_hand_s, rel=1e-12)
        assert record.time_s == pytest.approx(by_hand_s, rel=1e-9)


STEPS = """
#include <mpi.h>
#include <smpi/smpi.h>
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 3; i++) {
    if (argc > 1)
      smpi_execute_flops_benched(1e9);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
"""


def program_spec(cluster, folder, arguments, q, **how):
    source = folder / "steps.c"
    source.write_text(STEPS)
    asked = own_problem(read_program(source, arguments))
    return spec(cluster, asked, q, q, memory_bus=8e9, bytes_per_flop=0.25, **how)


@pytest.mark.parametrize("q", [1, 4])
def test_injected_computation_of_a_program_moves_its_bytes_as_a_kernel_s(cluster, tmp_path, q):
    record = run_iterations(program_spec(cluster, tmp_path, "charged", q), 1)
    # By hand: three times 1e9 operations, and 0.25e9 bytes of each rank over the bus that they share.
    assert max(record.compute_s) == pytest.approx(3 * (1e9 / SPEED + q * 0.25e9 / 8e9), rel=1e-3)
    assert record.flops == 3e9 * q
    assert record.command == ()  # smpirun alone would have no bus


@pytest.mark.parametrize("q", [1, 4])
def test_timed_computation_of_a_program_includes_its_own_bytes_and_waits_for_those_of_others(cluster, tmp_path, q):
    asked = with_work(program_spec(cluster, tmp_path, "", q, compute="measured", host_speed_flops=SPEED))
    for steps in asked.work.steps:
        steps["time_s"] = 0.0
        steps["time_s"][1:4] = 0.1  # before the second and third barrier and the end
    record = run_iterations(asked, 1)
    # By hand: 0.1 s alone; 0.1 s x 15.4e9 x 0.25 bytes take 48 ms of the bus, for which the others wait.
    moving_s = 0.1 * SPEED * 0.25 / 8e9
    assert max(record.compute_s) == pytest.approx(3 * (0.1 + (q - 1) * moving_s), rel=1e-3)


def test_a_bus_needs_the_program_s_bytes_and_computation_that_is_replayed(cluster, tmp_path):
    with pytest.raises(OptionError, match=r"does not say how many bytes it moves. Give --bytes-per-flop"):
        replace(program_spec(cluster, tmp_path, "", 1), bytes_per_flop=None)
    with pytest.raises(KernelError, match="its computation is timed in each run"):
        run_iterations(program_spec(cluster, tmp_path, "", 1, compute="measured", host_speed_flops=SPEED), 1)


def test_ranks_on_nodes_of_their_own_share_nothing(cluster):
    n = 10**9
    record = run_iterations(spec(cluster, sized_problem("dot", n), 4, memory_bus=BUS), 1)
    assert record.compute_s == pytest.approx([n / 2 / SPEED + 8 * n / 2 / BUS] * 4, rel=1e-8)


def test_the_platform_says_the_bandwidth_of_each_host(cluster, tmp_path):
    asked = sized_problem("dot", 10**8)
    ours, platforms = (simulate(spec(cluster, asked, 3, 3, memory_bus=bus)).time_s for bus in (BUS, "platform"))
    assert ours == platforms
    # Two kinds of hosts: 1e8 operations on each of two ranks, 8e8 bytes at 4 and at 1 GB/s.
    path = tmp_path / "two.toml"
    path.write_text(
        'network = "gigabit"\n'
        "[[clusters]]\nnodes = 1\nspeed_gflops = 1\nmemory_gbyte_s = 4\n"
        "[[clusters]]\nnodes = 1\nspeed_gflops = 1\nmemory_gbyte_s = 1\n"
    )
    two = materialise(read_grid(path))
    assert [host.memory_Bps for host in two.hosts] == [4e9, 1e9]
    record = run_iterations(spec(two, asked, 2, memory_bus="platform"), 1)
    assert record.compute_s == pytest.approx((0.1 + 0.2, 0.1 + 0.8), rel=1e-7)


def test_bytes_per_flop_can_be_given_and_nothing_to_move_is_no_bus(cluster):
    asked = sized_problem("summa", 300, nb=50)
    without, nothing, more = (
        simulate(spec(cluster, asked, 4, 2, **how))
        for how in ({}, {"memory_bus": BUS, "bytes_per_flop": 0.0}, {"memory_bus": BUS, "bytes_per_flop": 100.0})
    )
    assert nothing.time_s == without.time_s  # to the last bit
    assert nothing.compute_s == without.compute_s
    # Two ranks of a node, each half of its operations: 100 bytes for each over one bus.
    op = without.flops / 2
    assert max(more.compute_s) == pytest.approx(op / 2 / SPEED + 100 * op / BUS, rel=0.02)


def test_an_efficiency_slows_cores_and_not_memory(cluster):
    op = 2 * 10**8 - 1
    record = run_iterations(spec(cluster, sized_problem("dot", 10**8), 1, memory_bus=BUS, efficiency=0.5), 1)
    assert record.time_s == pytest.approx(op / (0.5 * SPEED) + 8 * op / BUS, rel=1e-9)


def test_a_core_that_waits_for_memory_is_busy(cluster):
    # One core of 16: epsilon and a sixteenth of the rest, for all of the time (docs/planning/cost-and-carbon.md).
    record = run_iterations(spec(cluster, sized_problem("dot", 10**9), 1, memory_bus=BUS), 1)
    host = cluster.hosts[0]
    assert record.energy_j[host.name] == pytest.approx(host.power.at_load(1 / 16) * record.time_s, rel=1e-9)


@pytest.mark.parametrize(("app", "preset", "iterations"), [("cg", "S", 15), ("mg", "W", 12)])
def test_what_is_extrapolated_is_what_is_simulated(cluster, app, preset, iterations):
    asked = problem(app, preset)
    if app == "mg":
        asked = replace(asked, params=tuple({**dict(asked.params), "nit": iterations}.items()))
    steady, full = (simulate(spec(cluster, asked, 8, 4, memory_bus=1e9, iterations=how)) for how in ("steady", "full"))
    assert steady.extrapolation.simulated < iterations
    assert steady.time_s == pytest.approx(full.time_s, rel=max(1e-9, 2 * steady.extrapolation.bound_rel))
    bound = max(1e-9, 2 * steady.extrapolation.energy_bound_rel)
    assert steady.used_energy_j == pytest.approx(full.used_energy_j, rel=bound)
    assert sum(steady.compute_s) == pytest.approx(sum(full.compute_s), rel=1e-6)


def test_every_kernel_declares_its_bytes(cluster):
    sizes = {"himeno": 33, "fem": 64, "hpl": 200, "fft": 2**12, "summa": 200, "dot": 1000}
    for name in set(kernel_names()) - {"sendmodes"}:
        asked = sized_problem(name, sizes[name]) if name in sizes else problem(name, "BH_S" if name == "dt" else "S")
        one = spec(cluster, asked, 2, 2, memory_bus=1e9)
        assert one.moved_bytes_per_flop == asked.bytes_per_flop
        assert (one.moved_bytes_per_flop == 0) == (name == "ep"), name
    # A panel of 64 columns: 16 bytes and 128 operations for each element of C.
    assert sized_problem("hpl", 1000).bytes_per_flop == 0.125
    assert sized_problem("fft", 2**20).bytes_per_flop == 3.2


def test_the_bus_and_the_bytes_belong_to_a_runs_identity(cluster):
    asked = problem("cg", "S")
    plain, bus, slower, fewer = (
        spec(cluster, asked, 2, **how)
        for how in ({}, {"memory_bus": 2e9}, {"memory_bus": 1e9}, {"memory_bus": 2e9, "bytes_per_flop": 3.0})
    )
    identities = [json.dumps(run_identity(one), sort_keys=True) for one in (plain, bus, slower, fewer)]
    assert len(set(identities)) == 4
    assert "memory_bus" not in run_identity(plain)
    assert run_identity(bus)["bytes_per_flop"] == 6.0
    assert "memory_bus" in simulate(bus).to_json()


def test_programs_of_ones_own_and_other_engines_have_no_bus(cluster, tmp_path):
    asked = problem("cg", "S")
    with pytest.raises(UserError, match="engine s4u has no memory bus"):
        spec(cluster, asked, 2, memory_bus=BUS, engine="s4u")
    with pytest.raises(UserError, match="with --compute none computation is free"):
        spec(cluster, asked, 2, memory_bus=BUS, compute="none")
    with pytest.raises(UserError, match="a recording has the computation"):
        record_events(Settings(memory_bus=BUS).spec(Target(asked, cluster, block(cluster, 2))), 2)
    with pytest.raises(UserError, match="goes with --memory-bus"):
        spec(cluster, asked, 2, bytes_per_flop=2.0)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--memory-bus 0", "not a bandwidth"),
        ("--memory-bus nan", "not a bandwidth"),
        ("--memory-bus fast", "--memory-bus fast: neither a number nor a known word"),
        ("--memory-bus platform", "gives no memory bandwidth of host c1-0"),
        ("--memory-bus 5 --bytes-per-flop -1", "not a number from 0 on"),
        ("--bytes-per-flop 1", "goes with --memory-bus"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(refused, options, said):
    refused(main, f"--app cg --class S --ranks 2 --scenario grid4x2 {options}".split(), said)


def test_a_program_of_ones_own_is_refused(refused, tmp_path):
    (tmp_path / "own.c").write_text("#include <mpi.h>\nint main(void) { return 0; }\n")
    arguments = ["--program", str(tmp_path / "own.c"), "--scenario", "grid4x2", "--memory-bus", "5"]
    refused(main, arguments, "does not say how many bytes it moves")


def test_the_command_takes_a_bus(capsys):
    common = "--app cg --class S --scenario bwUniCluster --ranks 4 --ranks-per-host 4 --json".split()
    times = []
    for options in ([], ["--memory-bus", "5"], ["--memory-bus", "platform"]):
        assert main([*common, *options]) == 0
        times.append(json.loads(capsys.readouterr().out)["time_s"])
    plain_s, slow_s, quick_s = times
    assert plain_s < quick_s < slow_s


def test_a_property_of_xml_is_a_number_of_bytes_per_second(tmp_path):
    text = '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
    text += (
        '<zone id="z" routing="Full"><host id="h" speed="1Gf"><prop id="memory_bandwidth" value="{}"/></host></zone>'
    )
    path = tmp_path / "one.xml"
    path.write_text(text.format("2e9") + "</platform>")
    assert read_platform(path).hosts[0].memory_Bps == 2e9
    path.write_text(text.format("2GBps") + "</platform>")
    with pytest.raises(PlatformError, match="memory_bandwidth '2GBps' is not a positive number"):
        read_platform(path)
