"""Stored payloads with a right checksum that are not what their reader expects: one is made again, others stay."""

import json
import sqlite3
from dataclasses import replace

import numpy as np
import pytest

from apps.probes.blocks.measure import BlockPlan, Experiment
from apps.probes.network.measure import Exchange, NetworkPlan
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem
from apps.recording.files import from_bytes, to_bytes
from apps.runs.fingerprints import noted_in_full
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store
from apps.store.database import DATABASE
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise


@pytest.fixture(scope="module")
def platform():
    return materialise(named_grid("grid4x2"))


@pytest.fixture
def specs(platform):
    return [RunSpec(Target(problem(app, "S"), platform, block(platform, 2))) for app in ("cg", "ep")]


def change(store, entry, alter):
    """Alter the payload of an entry; its checksum is that of the altered payload."""
    payload = store.get(entry.kind, entry.key)
    alter(payload)
    assert store.put(entry.kind, entry.key, entry.identity, payload)


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        (lambda data: data.pop("rank_flops"), "fields are missing or unknown: rank_flops"),
        (lambda data: data.update(colour="red"), "fields are missing or unknown: colour"),
        (lambda data: data["compute_s"].pop(), "compute_s has 1 entries for 2 ranks"),
        (lambda data: data["iteration_s"].pop(), "iteration_s has 1 entries for 2 ranks"),
        (lambda data: data["iteration_compute_s"][0].pop(), "different lengths"),
        (lambda data: data["host"].pop(), "its hosts are not those of its run"),
        (lambda data: data.update(collectives={"allreduce": {"calls": 1}}), "the counts of allreduce are not those"),
        (lambda data: data.update(checks={"zeta": 1.0}), "a check is no pair of values"),
        (lambda data: data.update(time_s=float("inf")), "a time is not finite"),
    ],
)
def test_a_record_that_does_not_fit_is_made_anew_with_its_reason(store, lines, specs, alter, said):
    def records():
        with Runner(jobs=1, store=store) as runner:
            return [runner.record(spec) for spec in specs]

    first = records()
    before = {entry.identity["app"]: entry for entry in store.entries()}
    change(store, before["cg"], alter)
    again = records()
    assert [replace(one, wall_s=0, timed_wall_s=0, peak_memory_bytes=0) for one in again] == [
        replace(one, wall_s=0, timed_wall_s=0, peak_memory_bytes=0) for one in first
    ]
    (line,) = lines
    assert f"record {before['cg'].key} is not used: " in line and said in line
    after = {entry.identity["app"]: entry for entry in store.entries()}
    assert after["ep"] == before["ep"]  # the rest stays
    assert records() == again and len(lines) == 1


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        (lambda data: data.pop("node_s"), "fields are missing or unknown: node_s"),
        (lambda data: data["times_s"].pop(), "it has 1 times of 1 experiments, not 2 of 2"),
        (lambda data: data["times_s"][0].append(1.0), "it has 3 times of 2 experiments, not 2 of 2"),
        (lambda data: data.update(times_s="fast"), "str instead of a list"),
        (lambda data: data["energies_j"].append(1.0), "energies, not"),
    ],
)
@pytest.mark.parametrize("kind", ["messages", "blocks"])
def test_a_measurement_that_does_not_fit_is_made_anew(store, lines, platform, kind, alter, said):
    one, other = block(platform, 2)
    plan = (
        NetworkPlan(platform, ((Exchange(one, other, 1, 1),), (Exchange(one, other, 8, 8),)))
        if kind == "messages"
        else BlockPlan(platform, (Experiment("p2p", (one, other), 1), Experiment("barrier", (one, other))))
    )

    def measured():
        with Runner(jobs=1, store=store) as runner:
            return runner.measure(plan).times_s

    first = measured()
    (entry,) = store.entries()
    change(store, entry, alter)
    assert measured() == first
    (line,) = lines
    assert f"probe {entry.key} is not used: " in line and said in line
    assert measured() == first and len(lines) == 1


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 half", "fewer ranks"])
def test_a_recording_that_does_not_fit_is_made_anew(store, lines, specs, content):
    def recorded():
        with Runner(jobs=1, store=store) as runner:
            return runner.recording(specs[0], 3)

    first = recorded()
    (entry,) = store.entries()
    if content == "fewer ranks":
        whole = from_bytes(store.get_bytes("recording", entry.identity))
        content = to_bytes(replace(whole, events=whole.events[:1]))
    store.put_bytes("recording", entry.identity, content)
    again = recorded()
    assert all(np.array_equal(a, b) for a, b in zip(again.events, first.events, strict=True))
    assert len(lines) == 1 and f"recording {entry.key} is not used: " in lines[0]
    recorded()
    assert len(lines) == 1


def test_fingerprints_that_do_not_fit_are_made_anew(store, lines, platform, tmp_path):
    (tmp_path / "ring.c").write_text(
        "#include <mpi.h>\n#include <stdlib.h>\nint main(int argc, char **argv)\n{\n  MPI_Init(&argc, &argv);\n"
        "  for (int i = 0; i < atoi(argv[1]); i++) {\n    MPI_Barrier(MPI_COMM_WORLD);\n    MPI_Pcontrol(1002);\n  }\n"
        "  MPI_Finalize();\n}\n"
    )
    asked = own_problem(read_program(tmp_path / "ring.c", "{iterations}", 20))
    spec = RunSpec(Target(asked, platform, block(platform, 2)))
    first = noted_in_full(spec, marked=True, store=store)
    (entry,) = store.entries()
    with sqlite3.connect(store.folder / DATABASE) as connection:  # put_bytes would ask for the inputs
        (identity,) = connection.execute("SELECT identity FROM entries").fetchone()
    for content in (b"", b"PK\x03\x04 half", "fewer ranks"):
        if content == "fewer ranks":
            from apps.recording import fingerprints

            content = fingerprints.to_bytes(first.calls[:1], first.moments[:1])
        store._put("fingerprints", entry.key, json.loads(identity), content, None, "", binary=True)
        lines.clear()
        store._reported.clear()
        again = noted_in_full(spec, marked=True, store=store)
        assert all(np.array_equal(a, b) for a, b in zip(again.moments, first.moments, strict=True))
        assert len(lines) == 1 and f"fingerprints {entry.key} is not used: " in lines[0]


def test_a_table_that_a_user_has_added_costs_nothing(store, lines, specs):
    with Runner(jobs=1, store=store) as runner:
        first = runner.record(specs[1])
    with sqlite3.connect(store.folder / DATABASE) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
        connection.execute("CREATE INDEX by_text ON notes (text)")
    said = []
    with Store(store.folder, report=said.append) as opened, Runner(jobs=1, store=opened) as runner:
        assert runner.record(specs[1]) == first
        assert [entry.key for entry in opened.entries()] == [entry.key for entry in store.entries()]
    assert said == lines == []
    assert not list(store.folder.glob("*.corrupt-*"))
