"""Cautions: what they say about a run, and how those of many runs are printed."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from apps.programs.own_program import UserProgram
from apps.programs.problem import Problem, problem
from apps.recording.events import EVENT, Kind, Mark, Recording
from apps.results.cautions import COMMUNICATION, MEASURED, Cautions, print_cautions
from apps.results.record import Extrapolation, Timed
from apps.runs.cautions import _repairs, recording_cautions, run_cautions
from apps.runs.repetition import NOT_SETTLED
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise, read_platform

DATA = Path(__file__).parents[2] / "platforms" / "data"

NO_COMPUTATION = "the program injects no computation: all times are those of communication alone"


@pytest.fixture(scope="module")
def grid():
    return materialise(named_grid("grid4x2"))


def target(platform, nranks=4, asked=None):
    return Target(asked or problem("cg", "S"), platform, block(platform, nranks))


def own(iterations=10, *, python=False):
    """A problem with a program that is never run."""
    path = Path(__file__).parents[3] / "examples" / ("ring.py" if python else "jacobi/jacobi.c")
    arguments = () if iterations is None else ("{iterations}",)
    return Problem("mine", program=UserProgram("mine", "0" * 64, arguments, iterations, path))


def test_ranges_stand_for_the_numbers_that_differ():
    found = Cautions()
    found.add("cg S on 8 ranks of grid4x2", ["extrapolated from 5 of 15 iterations, with an error of at most 1e-13"])
    found.add("lu S on 8 ranks of grid4x2", ["extrapolated from 7 of 250 iterations, with an error of at most 3e-7"])
    found.add("ft S on 8 ranks of grid4x2", ["extrapolated from 5 of 75 iterations, with an error of at most 2e-14"])
    said = "extrapolated from 5 to 7 of 15 to 250 iterations, with an error of at most 2e-14 to 3e-7"
    assert found.lines() == [f"cg S on 8 ranks of grid4x2, and 2 more: {said}"]


def test_numbers_in_names_are_no_numbers():
    found = Cautions()
    found.add("a", ["the speed of host 'c1-0' changes from 5 s"])
    found.add("b", ["the speed of host 'c2-0' changes from 5 s"])
    found.add("c", ["the speed of host 'c2-0' changes from 2.5 s"])
    assert found.lines() == [
        "a: the speed of host 'c1-0' changes from 5 s",
        "b, and 1 more: the speed of host 'c2-0' changes from 2.5 to 5 s",
    ]


def test_a_run_that_is_used_again_counts_once_and_the_order_of_runs_does_not_matter():
    one, other = Cautions(), Cautions()
    runs = [("a", 1), ("b", 1), ("a", 2), ("a", 1)]
    for found, order in ((one, runs), (other, runs[::-1])):
        for name, key in order:
            found.add(name, ["one", "another"], key=key)
    assert one.lines() == other.lines() == ["a, and 2 more: another", "a, and 2 more: one"]


def test_each_sentence_is_printed_once(capsys):
    found = Cautions()
    found.say("whole")
    found.add("a", ["whole", "part 1"])
    found.say_all()
    found.add("b", ["part 2"])
    found.say_all()
    found.say("whole")
    assert capsys.readouterr() == ("", "caution: whole\ncaution: a: part 1\n")
    assert found.lines() == ["a, and 1 more: part 1 to 2", "a: whole"]
    print_cautions(["one", "two", "one"])
    assert capsys.readouterr() == ("", "caution: one\ncaution: two\n")


@pytest.mark.parametrize(
    ("asked", "settings", "compute_s", "said"),
    [
        (
            own(),
            {},
            0.0,
            [f"{NO_COMPUTATION}; --compute measured times it"],
        ),
        (own(), {}, 1.0, []),
        (own(), {"compute": "none"}, 0.0, [COMMUNICATION]),
        (
            own(python=True),
            {"engine": "s4u"},
            0.0,
            [f"{NO_COMPUTATION}; charge flops by rank.compute"],
        ),
        (None, {"compute": "none"}, 0.0, [COMMUNICATION]),
    ],
)
def test_how_the_computation_is_timed(grid, record_of, asked, settings, compute_s, said):
    spec = RunSpec(target(grid, asked=asked), **settings)
    assert list(run_cautions(spec, record_of(spec.target, 1.0, 0.0, [compute_s] * 4))) == said


@pytest.mark.parametrize(
    ("timed", "said"),
    [
        (Timed(replayed=True, spread_rel=0.02), []),
        (Timed(replayed=False, spread_rel=0.0), [MEASURED]),
        (Timed(True, 0.0, kept=False), [f"{MEASURED}, because the store does not contain the timings"]),
        (Timed(False, 0.0, reason="it departs"), [f"{MEASURED}; it was not replayed: it departs"]),
        (
            Timed(replayed=True, spread_rel=0.22),
            ["the program's computation, timed on this computer, may be wrong by 22 %"],
        ),
        (
            Timed(replayed=True, spread_rel=5.61),
            ["the program's computation, timed on this computer, may be wrong by 561 %"],
        ),
    ],
)
def test_where_measured_computation_comes_from(grid, record_of, timed, said):
    spec = RunSpec(target(grid, asked=own()), compute="measured", host_speed_flops=1e9)
    record = dataclasses.replace(record_of(spec.target, 1.0, 0.0, [1.0] * 4), timed=timed)
    assert list(run_cautions(spec, record)) == said


@pytest.mark.parametrize(
    ("asked", "basis", "said"),
    [
        (own(10), "they do not repeat", ["all iterations were simulated: they do not repeat"]),
        (own(3), "there are few of them", ["all iterations were simulated: there are few of them"]),
        (own(None), None, []),  # without iterations, or all were asked for
        (None, NOT_SETTLED, []),  # a kernel
    ],
)
def test_why_all_iterations_were_simulated(grid, record_of, asked, basis, said):
    spec = RunSpec(target(grid, asked=asked), iterations="steady")
    record = dataclasses.replace(record_of(spec.target, 1.0, 0.0, [1.0] * 4), iterations_basis=basis)
    assert list(run_cautions(spec, record)) == said


@pytest.mark.parametrize(
    ("bound", "said"), [(2.34e-9, "a relative error of at most 2e-09"), (None, "an unknown error")]
)
def test_how_far_a_run_was_extrapolated(grid, record_of, bound, said):
    spec = RunSpec(target(grid), iterations="steady")
    how = Extrapolation(15, 5, 1, 0.1, bound)
    record = dataclasses.replace(record_of(spec.target, 1.0, 1.0), extrapolation=how)
    assert run_cautions(spec, record) == (
        f"5 of 15 iterations were simulated: they repeat; the others are extrapolated from them, with {said}",
    )
    measured = dataclasses.replace(record, source="measurement", compute_s=())
    assert run_cautions(spec, measured) == ()


def test_changes_of_the_platform_and_repairs_of_simgrid_are_said(record_of, monkeypatch):
    monkeypatch.setattr("apps.runs.cautions._repairs", _repairs)  # which tests/conftest.py leaves out
    platform = read_platform(DATA / "halved.xml")
    spec = RunSpec(target(platform, 2))
    record = record_of(spec.target, 1.0, 1.0)
    (changes,) = run_cautions(spec, record)
    assert changes.startswith("the platform changes while the program runs: the speed of host 'tired' changes from 5 s")
    repaired = dataclasses.replace(record, identity={"simgrid": "4.1-0123456789abcdef"})
    _, said = run_cautions(spec, repaired)
    assert said.startswith("SimGrid 4.1 ran with this project's repairs of its routes and of the energy of links")
    assert run_cautions(spec, dataclasses.replace(record, identity={"simgrid": "3.36.1-git"})) == (changes,)


def recording(marks, *, computing, measured=False):
    kinds = [*[Kind.COMPUTE] * computing, *[Kind.MARK] * marks]
    events = np.zeros(len(kinds), EVENT)
    events["kind"] = kinds
    events["op"][events["kind"] == Kind.MARK] = Mark.ITERATION
    return Recording((events,) * 4, (np.zeros(0, np.int64),) * 4, ((0, 1, 2, 3),), measured=measured)


@pytest.mark.parametrize(
    ("asked", "made", "said"),
    [
        (None, recording(3, computing=1), "3 of 15 iterations were recorded: the others are assumed to be like them"),
        (own(10), recording(10, computing=1), None),
        (
            own(10),
            recording(0, computing=1),
            "all iterations were recorded, because they were not shown to be alike (--program-period K records few, if "
            "they repeat every K)",
        ),
        (own(None), recording(0, computing=1), None),
        (
            own(None),
            recording(0, computing=0),
            f"{NO_COMPUTATION}; --compute measured times it",
        ),
    ],
)
def test_what_a_recording_rests_on(grid, asked, made, said):
    found = recording_cautions(RunSpec(target(grid, asked=asked)), made)
    assert [text for text in found if not text.startswith("SimGrid")] == ([] if said is None else [said])


def test_a_recording_of_timed_computation_says_so(grid):
    spec = RunSpec(target(grid, asked=own(None)), compute="measured", host_speed_flops=1e9)
    assert MEASURED in recording_cautions(spec, recording(0, computing=1, measured=True))


def test_a_record_from_the_store_carries_the_cautions_of_a_new_one(grid, record_of, tmp_path):
    spec = RunSpec(target(grid), iterations="steady")
    made = []

    def simulate(spec, *, stop=None):
        made.append(spec)
        return dataclasses.replace(
            record_of(spec.target, 1.0, 1.0), extrapolation=Extrapolation(15, 5, 1, 0.1, 1e-9), cautions=("another",)
        )

    said = (
        "5 of 15 iterations were simulated: they repeat; the others are extrapolated from them, with a relative error "
        "of at most 1e-09",
    )
    for _ in range(2):
        with (
            Store(tmp_path) as store,
            Runner(jobs=1, store=store, simulate=simulate, identify=lambda spec: spec.identity()) as runner,
        ):
            record = runner.record(spec)
            assert record.cautions == said
            assert json.loads(json.dumps(record.to_json()))["cautions"] == list(said)
            assert runner.cautions.lines() == [f"cg S on 4 ranks of grid4x2: {said[0]}"]
    assert len(made) == 1
    with Store(tmp_path) as store:
        (entry,) = store.entries()
        assert "cautions" not in store.get("record", entry.key)  # so that records of earlier versions remain readable


def test_each_caution_is_handed_on_with_its_run():
    found = Cautions()
    found.add("recording of cg A on 4 ranks", ["3 of 15 iterations were recorded"])
    found.add("ep", ["computation is timed"])
    assert sorted(found.by_run()) == [
        ("ep", "computation is timed"),
        ("recording of cg A on 4 ranks", "3 of 15 iterations were recorded"),
    ]
