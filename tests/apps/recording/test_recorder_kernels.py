"""Recordings of kernels, compared with SimGrid's own trace (-trace-ti) and with conservation of messages."""

import os
import subprocess
from collections import Counter
from functools import cache

import numpy as np
import pytest

from apps.programs.problem import problem
from apps.recording.events import Kind, Mark, Op
from apps.recording.files import from_bytes, to_bytes
from apps.recording.recorder.library import recorder_library
from apps.runs.engines import run_iterations
from apps.runs.neutral import neutral_platform
from apps.runs.record_events import record_events
from apps.smpi.launch import launch, prepare
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store

RANKS, ITERATIONS = 8, 3
KERNELS = ("cg", "mg", "lu")


def spec_of(name, *, preset="S", ranks=RANKS, **more):
    platform = neutral_platform(ranks)
    target = Target(problem(name, preset), platform, tuple(host.name for host in platform.hosts))
    return RunSpec(target, **more)


@cache
def recording_of(name):
    return record_events(spec_of(name), ITERATIONS)


@pytest.mark.parametrize("name", KERNELS)
def test_every_rank_did_what_the_simulators_own_trace_says(name, tmp_path):
    # SimGrid's time-independent trace: one line per call, "rank call ...".
    command = prepare(spec_of(name), launch(spec_of(name), ITERATIONS), tmp_path)
    subprocess.run([command[0], "-trace-ti", *command[1:]], cwd=tmp_path, check=True, capture_output=True)
    calls = {rank: Counter() for rank in range(RANKS)}
    flops = dict.fromkeys(range(RANKS), 0.0)
    for path in sorted(tmp_path.glob("smpi_simgrid.txt_files/*")):
        for line in path.read_text().splitlines():
            rank, call, *rest = line.split()
            calls[int(rank)][call] += 1
            flops[int(rank)] += float(rest[0]) if call == "compute" else 0.0
    recording = recording_of(name)
    for rank in range(RANKS):
        kinds = Counter(recording.events[rank]["kind"].tolist())
        seen = calls[rank]
        assert kinds[Kind.SEND] == seen["send"] + seen["isend"] > 0
        assert kinds[Kind.RECV] == seen["recv"] + seen["irecv"] > 0
        assert kinds[Kind.WAIT] == seen["send"] + seen["recv"] + seen["wait"]
        ops = Counter(recording.events[rank]["op"][recording.events[rank]["kind"] == Kind.COLLECTIVE].tolist())
        names = {Op.BARRIER: "barrier", Op.ALLREDUCE: "allreduce", Op.REDUCE: "reduce", Op.BCAST: "bcast"}
        assert {names[op]: count for op, count in ops.items() if op in names} == {
            call: count for call, count in seen.items() if call in names.values()
        }
        computed = recording.events[rank]["amount"][recording.events[rank]["kind"] == Kind.COMPUTE].sum()
        assert computed == pytest.approx(flops[rank], rel=1e-5)  # the trace has six digits


def messages(recording, kind):
    """Return the message sizes of each (sender, receiver, tag, communicator), in order."""
    found = {}
    for rank, events in enumerate(recording.events):
        for event in events[events["kind"] == kind]:
            ends = (rank, int(event["peer"])) if kind == Kind.SEND else (int(event["peer"]), rank)
            found.setdefault((*ends, int(event["tag"]), int(event["comm"])), []).append(int(event["size_bytes"]))
    return found


@pytest.mark.parametrize("name", KERNELS)
def test_every_message_sent_is_received_with_its_size(name):
    recording = recording_of(name)
    assert messages(recording, Kind.SEND) == messages(recording, Kind.RECV)


@pytest.mark.parametrize("name", KERNELS)
def test_every_operation_is_waited_for_once(name):
    for events in recording_of(name).events:
        started = events["request"][(events["kind"] == Kind.SEND) | (events["kind"] == Kind.RECV)]
        waited = events["request"][events["kind"] == Kind.WAIT]
        assert sorted(waited) == sorted(started) == list(range(len(started)))


@pytest.mark.parametrize("name", KERNELS)
def test_the_timed_section_has_the_flops_and_messages_that_the_kernel_counts(name):
    record = run_iterations(spec_of(name), ITERATIONS)
    for rank, events in enumerate(recording_of(name).events):
        marks = events["op"][events["kind"] == Kind.MARK]
        assert Counter(marks.tolist())[Mark.ITERATION] == ITERATIONS
        start, stop = (
            np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == mark))[0]
            for mark in (Mark.START, Mark.STOP)
        )
        timed = events[start:stop]
        assert timed["amount"][timed["kind"] == Kind.COMPUTE].sum() == pytest.approx(record.rank_flops[rank], rel=1e-12)
        assert (timed["kind"] == Kind.SEND).sum() == record.messages[rank]
        assert timed["size_bytes"][timed["kind"] == Kind.SEND].sum() == record.bytes[rank]


@pytest.mark.parametrize("name", KERNELS)
def test_recording_takes_no_simulated_time(name, tmp_path):
    spec = spec_of(name)
    (tmp_path / "events").mkdir()
    outputs = []
    for recorder in (None, recorder_library()):
        folder = tmp_path / str(recorder is None)
        folder.mkdir()
        command = prepare(spec, launch(spec, ITERATIONS), folder, recorder=recorder)
        environment = {**os.environ, "RECORDER_FOLDER": str(tmp_path / "events")}
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, env=environment)
        outputs.append([word for word in done.stdout.split(", ") if "wall" not in word])
    assert outputs[0] == outputs[1]
    assert len(list((tmp_path / "events").glob("*.events"))) == RANKS


def test_flops_are_those_that_the_spec_injects():
    plain, half = (record_events(spec_of("cg", efficiency=e), 1) for e in (1.0, 0.5))
    for one, other in zip(plain.events, half.events, strict=True):
        computing = one["kind"] == Kind.COMPUTE
        assert (other["amount"][computing] == 2 * one["amount"][computing]).all()
        assert (other["amount"][~computing] == one["amount"][~computing]).all()
    none = record_events(spec_of("cg", compute="none"), 1)
    assert not any((events["kind"] == Kind.COMPUTE).any() for events in none.events)


def same(one, other):
    return (
        all((a == b).all() for a, b in zip(one.events, other.events, strict=True))
        and all((a == b).all() for a, b in zip(one.counts, other.counts, strict=True))
        and one.communicators == other.communicators
        and one.measured == other.measured
    )


def test_a_recording_is_made_once(tmp_path, monkeypatch):
    with Store(tmp_path) as store:
        made = record_events(spec_of("mg"), 1, store=store)
        monkeypatch.setattr("apps.runs.record_events.run_recorded", lambda *_, **__: pytest.fail("recorded again"))
        assert same(record_events(spec_of("mg"), 1, store=store), made)
        (entry,) = store.entries()
        assert entry.kind == "recording"
        assert store.get("recording", entry.key) is None  # it is not JSON


def test_bytes_bring_a_recording_back_whole():
    recording = recording_of("lu")
    assert same(from_bytes(to_bytes(recording)), recording)
    with pytest.raises(ValueError, match="not a recording"):
        from_bytes(b"something else")
