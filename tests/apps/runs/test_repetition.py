"""User's programs are extrapolated only where all their iterations were found to repeat."""

from pathlib import Path

import numpy as np
import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.recording.events import Kind, Mark
from apps.recording.fingerprints import MOST_TIMED, Fingerprints, departure, pattern_of
from apps.results.record import iterations_caution
from apps.results.steady import Pattern
from apps.runs import fingerprints
from apps.runs import record_events as recordings
from apps.runs.record_events import record_events
from apps.runs.simulate import simulate
from apps.smpi import engine
from apps.smpi.engine import note_events
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

DATA = Path(__file__).parents[1] / "data"
JACOBI = Path(__file__).parents[3] / "examples" / "jacobi" / "jacobi.c"


def spec_of(path, arguments="{iterations}", full=200, *, ranks=4, scenario="grid4x2", **more):
    platform = materialise(named_grid(scenario))
    asked = own_problem(read_program(path, arguments, full))
    return RunSpec(Target(asked, platform, block(platform, ranks)), **{"iterations": "steady", **more})


@pytest.fixture(scope="module")
def every_tenth_in_full():
    return simulate(spec_of(DATA / "every_tenth.c", iterations="full"))


@pytest.mark.parametrize("full_below_messages", [None, 0])
def test_a_long_sum_in_every_tenth_step_is_not_missed(full_below_messages, every_tenth_in_full):
    full = every_tenth_in_full
    steady = simulate(spec_of(DATA / "every_tenth.c"), full_below_messages=full_below_messages)
    assert steady.time_s == pytest.approx(full.time_s, rel=1e-12)
    assert steady.collectives == full.collectives == {"allreduce": {"calls": 20, "bytes": [20 * 800_000] * 4}}
    assert steady.messages == full.messages == (400,) * 4
    if full_below_messages is None:
        assert steady.extrapolation is None
        assert iterations_caution(steady) == "all iterations were simulated: a full run has few messages"
    else:
        how = steady.extrapolation
        assert how.period % 10 == 0 and how.simulated < 100
        assert abs(steady.time_s - full.time_s) <= how.bound_rel * full.time_s
        assert steady.iterations_basis == "all 200 were found to repeat, every 10 from iteration 1 on"


def test_a_number_of_iterations_that_the_user_asks_for_bounds_nothing(every_tenth_in_full):
    record = simulate(spec_of(DATA / "every_tenth.c", iterations=9))
    assert record.extrapolation.bound_rel is None
    assert "not shown to repeat" in iterations_caution(record)
    assert record.time_s < 0.5 * every_tenth_in_full.time_s


def test_fingerprints_are_kept_for_all_platforms(tmp_path, monkeypatch):
    with Store(tmp_path, report=pytest.fail) as store:
        one = simulate(spec_of(DATA / "every_tenth.c"), store=store, full_below_messages=0)
        assert {entry.kind for entry in store.entries()} == {"fingerprints", "surroundings"}
        monkeypatch.setattr(fingerprints, "note_fingerprints", lambda *_, **__: pytest.fail("run again"))
        other = simulate(spec_of(DATA / "every_tenth.c", scenario="grid3x9"), store=store, full_below_messages=0)
    assert one.extrapolation.period == other.extrapolation.period == 10


def test_a_recording_of_iterations_that_differ_covers_all():
    recording = record_events(spec_of(DATA / "every_tenth.c"), 3)
    for events in recording.events:
        assert (events["kind"] == Kind.COLLECTIVE).sum() == 20
        assert events["op"][events["kind"] == Kind.MARK].tolist() == [Mark.START, Mark.STOP]


def test_the_run_that_shows_it_is_the_recording(tmp_path, monkeypatch):
    made = []

    def counted(spec, iterations, *args, **more):
        made.append(iterations)
        return note_events(spec, iterations, *args, **more)

    for module in (engine, fingerprints):
        monkeypatch.setattr(module, "note_events", counted)
    found = record_events(spec_of(DATA / "every_tenth.c"), 3)
    assert made == [3, 200]
    monkeypatch.undo()
    monkeypatch.setattr(recordings, "_MOST_EVENTS", 0)  # as of a long run: then it is made once more
    again = record_events(spec_of(DATA / "every_tenth.c"), 3)
    assert all(map(np.array_equal, found.events, again.events))


PROGRAM = """
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{{
  int n = atoi(argv[1]), rank;
  char data[10000];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double start_s = MPI_Wtime();
  for (int i = 0; i < n; i++) {{
    smpi_execute_flops_benched(1e7);
    MPI_Bcast(data, 100, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    {body}
    MPI_Pcontrol(1002);
  }}
  (void)start_s;
  MPI_Finalize();
}}
"""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", None),
        ("usleep(1000);", None),
        ("usleep(1000 + i);", "they do not repeat"),
        ("smpi_execute_flops_benched(1e7 + i);", "they do not repeat"),
        ("MPI_Bcast(data, 100, MPI_CHAR, i > 60, MPI_COMM_WORLD);", "they do not repeat"),  # another root, equal bytes
        ("if (i == 97) MPI_Barrier(MPI_COMM_WORLD);", "they do not repeat"),
        ("if (MPI_Wtime() - start_s > 1e15) break;", None),  # no run lasts that long
        ("if (MPI_Wtime() - start_s > 1e3) break;", "its course depends on the simulated time"),
        ("if (i == 80) n = 90;", "the program was given 100 iterations and makes 90"),
        ("if (n == 100) MPI_Barrier(MPI_COMM_WORLD);", "its first iterations differ from those of a full run"),
        (
            "if (i == n - 1 && n == 100) MPI_Barrier(MPI_COMM_WORLD);",
            "it begins or ends differently from a full run",
        ),
    ],
)
def test_only_what_repeats_is_extrapolated(body, reason, tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM.format(body=body))
    record = simulate(spec_of(tmp_path / "program.c", full=100), full_below_messages=0)
    if reason is None:
        assert record.extrapolation.simulated == 5
    else:
        assert record.extrapolation is None and record.iterations_basis == reason
        # The last iteration before the end of the loop is left without its mark where the program breaks it off.
    full = simulate(spec_of(tmp_path / "program.c", full=100, iterations="full"))
    assert record.time_s == pytest.approx(full.time_s, rel=1e-12)
    assert record.collectives == full.collectives


def test_patterns_by_hand():
    def found(*row):
        return pattern_of(np.array(row, np.uint64))

    assert found(*[7] * 10) == Pattern(0, 1)
    assert found(*[7] * 9, 3) == Pattern(0, 1)  # the last may differ
    assert found(5, *[7] * 19) == Pattern(1, 1)
    assert found(*[1, 2] * 10) == Pattern(0, 2)
    assert found(*[1, 1, 2] * 10) == Pattern(0, 3)
    assert found(*[1, 1, 2] * 3) is None  # fewer than half of them would not show it
    assert found(*[7] * 12, 3, *[7] * 7) is None  # a change in the middle
    assert found(*[7] * 5, 3, *[7] * 94) == Pattern(6, 1)
    assert found(*range(20)) is None


def test_a_shortened_run_must_begin_and_end_as_the_full_one():
    def made(row, *, frame=1, timed=0):
        iterations = np.array(row, np.uint64)
        return Fingerprints(iterations, iterations, frame, timed, 0, ())

    full = made([1, 2, 2, 2, 2, 2, 3])
    assert departure(made([1, 2, 2, 3]), full) is None
    assert departure(made([1, 2, 2, 2]), full) is not None
    assert departure(made([2, 2, 2, 3]), full) is not None
    assert departure(made([1, 2, 2, 3], frame=2), full) is not None
    assert departure(made([1, 2, 2, 3], timed=MOST_TIMED), full) is None
    assert departure(made([1, 2, 2, 3], timed=MOST_TIMED + 1), full) is not None
    assert departure(made([1, 2, 2, 3], timed=MOST_TIMED + 1), full, clock_is_harmless=True) is None


def test_the_jacobi_example_is_shown_to_repeat_without_marks():
    record = simulate(spec_of(JACOBI, "300 {iterations} charged", 40, ranks=6), full_below_messages=0)
    assert record.extrapolation.simulated == 5
    assert record.iterations_basis.startswith("all 40 were found to repeat, every one")
