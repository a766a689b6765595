"""Records of user programs, made by the recorder, compared with the programs' own output."""

from pathlib import Path

import pytest

from apps.errors import KernelError, OptionError
from apps.programs.compile import kernel_program
from apps.programs.kernel import named_kernel
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem
from apps.recording.events import Kind, Mark
from apps.runs.engines import run_iterations
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.smpi.launch import launch
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store, is_exact
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise, read_platform

DATA = Path(__file__).parents[1] / "data"
JACOBI = Path(__file__).parents[3] / "examples" / "jacobi" / "jacobi.c"


def on_reference_platform(asked, ranks):
    platform = read_platform(DATA / "platform-grid-ref.xml")
    return Target(asked, platform, block(platform, ranks))


def own(path, arguments="", full=None, *, ranks=4, **more):
    platform = materialise(named_grid("grid4x2"))
    asked = own_problem(read_program(path, arguments, full))
    return RunSpec(Target(asked, platform, block(platform, ranks)), **more)


@pytest.mark.parametrize("name", ["cg", "mg", "lu"])
@pytest.mark.parametrize("full", [3, 30], ids=["whole", "part"])
def test_a_kernel_taken_for_a_users_program_has_the_record_that_it_prints_itself(name, full):
    asked = problem(name, "S")
    printed = run_iterations(RunSpec(on_reference_platform(asked, 8)), 3)
    # Its marks give the timed section and the iterations; privatisation of globals does not change the times.
    arguments = launch(RunSpec(on_reference_platform(asked, 8)), 3).arguments
    shown = " ".join(arguments).replace("iterations=3", "iterations={iterations}")
    program = own_problem(read_program(kernel_program(named_kernel(name)), shown, full))
    recorded = run_iterations(RunSpec(on_reference_platform(program, 8)), 3)
    for field in (
        *("time_s", "simulated_s", "compute_s", "comm_s", "messages", "bytes", "self_messages", "self_bytes"),
        *("collectives", "iteration_messages", "iteration_bytes", "iteration_self_messages", "iteration_self_bytes"),
        *("iteration_collectives", "host", "iteration_s", "iteration_compute_s"),
    ):
        assert getattr(recorded, field) == getattr(printed, field), field
    for field in ("flops", "rank_flops", "iteration_flops"):
        assert getattr(recorded, field) == pytest.approx(getattr(printed, field), rel=1e-12), field


def test_iterations_that_are_not_marked_are_found_and_extrapolated():
    # 40 iterations settle after the first; the extrapolated values equal those of a full run.
    steady = simulate(own(JACOBI, "300 {iterations} charged", 40, ranks=6, iterations="steady"), full_below_messages=0)
    full = simulate(own(JACOBI, "300 {iterations} charged", 40, ranks=6, iterations="full"))
    assert (steady.extrapolation.simulated, full.extrapolation) == (5, None)
    assert steady.time_s == pytest.approx(full.time_s, rel=1e-6)
    for field in ("messages", "bytes", "collectives"):
        assert getattr(steady, field) == getattr(full, field), field
    assert steady.compute_s == pytest.approx(full.compute_s, rel=1e-9)
    assert steady.flops == pytest.approx(full.flops, rel=1e-12) == 6 * 300 * 300 * 40
    assert full.iteration_s == ((),) * 6


def test_jacobi_sends_what_its_source_says():
    # By hand: 2 x 2 ranks of 50 x 50 points; each has two neighbours, an edge is 50 doubles.
    record = run_iterations(own(JACOBI, "100 {iterations} charged", 20), 10)
    assert record.messages == (20,) * 4 and record.bytes == (20 * 400,) * 4
    assert record.collectives == {"allreduce": {"calls": 10, "bytes": [80] * 4}}
    assert record.iteration_messages == (2,) * 4
    assert record.iteration_flops == (6.0 * 50 * 50,) * 4
    assert all(len(ends) == 10 for ends in record.iteration_s)
    speeds = [record_host.speed_flops for record_host in materialise(named_grid("grid4x2")).hosts[:1]]
    assert record.compute_s[0] == pytest.approx(10 * 6 * 2500 / speeds[0], rel=1e-9)


def test_a_program_without_told_iterations_is_simulated_whole_whatever_the_policy():
    steady = simulate(own(JACOBI, "100 10 charged", iterations="steady"))
    assert steady.extrapolation is None
    assert steady.time_s == simulate(own(JACOBI, "100 {iterations} charged", 10)).time_s


IRREGULAR = """
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  char data[100000];
  for (int i = 1; i <= atoi(argv[1]); i++)
    MPI_Bcast(data, i * i, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Finalize();
}
"""


def test_iterations_that_cannot_be_told_apart_are_all_simulated_or_refused(tmp_path):
    (tmp_path / "irregular.c").write_text(IRREGULAR)
    record = simulate(own(tmp_path / "irregular.c", "{iterations}", 12, iterations="steady"))
    assert record.extrapolation is None
    assert record.collectives["bcast"] == {"calls": 12, "bytes": [sum(i * i for i in range(1, 13))] * 4}
    with pytest.raises(KernelError, match="5 iterations of the program cannot be identified"):
        simulate(own(tmp_path / "irregular.c", "{iterations}", 12, iterations=5))
    recording = record_events(own(tmp_path / "irregular.c", "{iterations}", 12), 5)
    for events in recording.events:  # a full run without marks
        assert (events["kind"] == Kind.COLLECTIVE).sum() == 12
        assert events["op"][events["kind"] == Kind.MARK].tolist() == [Mark.START, Mark.STOP]


def test_a_recording_has_as_many_iterations_as_are_asked_for():
    recording = record_events(own(JACOBI, "100 {iterations} charged", 500), 3)
    for events in recording.events:
        marks = events["op"][events["kind"] == Kind.MARK].tolist()
        assert marks == [Mark.START, Mark.FIRST_ITERATION, *[Mark.ITERATION] * 3, Mark.STOP]


def test_what_a_program_injects_can_be_left_out():
    free = simulate(own(JACOBI, "100 5 charged", compute="none"))
    assert free.compute_s == (0.0,) * 4 and free.flops == 0
    assert free.time_s < simulate(own(JACOBI, "100 5 charged")).time_s


def test_measured_computation_without_a_store_is_said_to_vary_and_never_reused(tmp_path):
    spec = own(JACOBI, "400 20", compute="measured", host_speed_flops=40e9)
    record = simulate(spec)
    assert all(seconds > 0 for seconds in record.compute_s)
    assert record.identity["compute"] == "measured" and record.identity["host_speed_flops"] == 40e9
    assert not is_exact(record)
    with Store(tmp_path, report=lambda text: None) as store:
        store.put_record(record)
        assert store.get_record(record.identity) is None


def test_the_host_speed_is_measured_once(tmp_path, monkeypatch):
    monkeypatch.setattr("apps.spec.machine_speed.cache_folder", lambda: tmp_path)
    monkeypatch.setattr("apps.spec.machine_speed.dgemm_flops", lambda: 12e9)
    target = own(JACOBI, "10 2").target
    assert Settings(compute="measured").spec(target).host_speed_flops == 12e9
    monkeypatch.setattr("apps.spec.machine_speed.dgemm_flops", lambda: pytest.fail("measured again"))
    assert Settings(compute="measured").spec(target).host_speed_flops == 12e9
    assert Settings(compute="measured", host_speed_flops=5e9).spec(target).host_speed_flops == 5e9


def test_equal_programs_are_equal_problems(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "jacobi.c").write_bytes(JACOBI.read_bytes())
    one, other = (own_problem(read_program(tmp_path / folder / "jacobi.c", "10 2")) for folder in ("a", "b"))
    assert one == other
    (tmp_path / "b" / "own.h").write_text("/* beside it, but not included */")
    assert own_problem(read_program(tmp_path / "b" / "jacobi.c", "10 2")) == one
    (tmp_path / "b" / "jacobi.c").write_bytes(b'#include "own.h"\n' + JACOBI.read_bytes())
    assert own_problem(read_program(tmp_path / "b" / "jacobi.c", "10 2")) != one
    assert own_problem(read_program(tmp_path / "a" / "jacobi.c", "10 3")) != one


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"mode": "verify"}, "has no modes"),
        ({"efficiency": 0.5}, "itself states its computation"),
        ({"compute": "measured"}, "the speed of this computer is missing"),
        ({"host_speed_flops": 1e9}, "goes with --compute measured"),
        ({"compute": "measured", "host_speed_flops": -1.0}, "not a speed"),
        (
            {"compute": "measured", "host_speed_flops": 1e9, "options": (("smpi/host-speed", "1"),)},
            "set by the engine itself",
        ),
    ],
)
def test_settings_that_mean_nothing_for_a_users_program_are_refused(more, message):
    with pytest.raises(OptionError, match=message):
        own(JACOBI, "10 2", **more)
