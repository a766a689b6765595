"""DT, compared with the official program (data/npb-dt.csv) and with its declared traffic."""

import csv
from collections import Counter
from pathlib import Path

import pytest

from apps.errors import KernelError
from apps.programs.kernel import named_kernel
from apps.programs.problem import problem
from apps.recording.events import Kind
from apps.runs.record_events import record_events
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.traffic import accepts, traffic
from apps.traffic.steps import Exchange
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

with open(Path(__file__).parents[1] / "data" / "npb-dt.csv", newline="") as file:
    OFFICIAL = {f"{row['graph']}_{row['class']}": row for row in csv.DictReader(file)}
NODES = {preset: int(row["nodes"]) for preset, row in OFFICIAL.items()}
TIMED = [preset for preset, row in OFFICIAL.items() if row["time_s"]]
COUNTED = [preset for preset, row in OFFICIAL.items() if row["p2p_msgs_total"]]


def test_the_classes_have_the_official_parameters():
    assert list(named_kernel("dt").classes) == list(OFFICIAL)
    for preset, params in named_kernel("dt").classes.items():
        row = OFFICIAL[preset]
        assert params == {"graph": row["graph"]} | {
            name: int(row[name]) for name in ("num_sources", "num_samples", "std_deviation")
        }


@pytest.mark.parametrize("preset", COUNTED)
def test_messages_and_bytes_are_the_official_ones(preset):
    sent = traffic(problem("dt", preset), NODES[preset]).totals(1)
    for ours, theirs in ((sent.messages, "msgs"), (sent.bytes, "bytes")):
        found = [ours.min(), ours.max(), ours.sum()]
        assert found == [int(OFFICIAL[preset][f"p2p_{theirs}_{kind}"]) for kind in ("rank_min", "rank_max", "total")]


@pytest.mark.parametrize("preset", OFFICIAL)
def test_declared_arcs_are_those_of_the_official_graph(preset):
    # On every arc a length and an array; each sink sends its result.
    steps = traffic(problem("dt", preset), NODES[preset]).last
    lengths = [step for step in steps if isinstance(step, Exchange) and set(step.size_bytes.tolist()) == {4}]
    assert sum(len(step.source) for step in lengths) == int(OFFICIAL[preset]["arcs"])


@pytest.mark.parametrize("preset", TIMED)
def test_the_kernel_is_verified_takes_the_official_time_and_sends_what_is_declared(kernel, preset):
    record = kernel("dt", preset, NODES[preset], mode="verify")
    assert record.verified is True
    assert record.time_s == pytest.approx(float(OFFICIAL[preset]["time_s"]), rel=1e-3)
    declared = traffic(problem("dt", preset), NODES[preset]).totals(1)
    assert list(record.messages) == declared.messages.tolist()
    assert list(record.bytes) == declared.bytes.tolist()
    assert record.rank_flops == pytest.approx(declared.flops)


@pytest.mark.parametrize("preset", ["BH_W", "WH_W", "SH_S"])
def test_a_skeleton_runs_as_the_kernel_with_arithmetic(kernel, preset):
    skeleton, verify = (
        kernel("dt", preset, NODES[preset], mode=mode, compute="injected", efficiency=0.05)
        for mode in ("skeleton", "verify")
    )
    assert skeleton.time_s == pytest.approx(verify.time_s, rel=1e-9)
    for field in ("messages", "bytes", "rank_flops"):
        assert getattr(skeleton, field) == getattr(verify, field)


@pytest.mark.parametrize("preset", ["BH_S", "WH_W", "SH_S"])
def test_messages_go_where_they_are_declared_to_go(preset):
    nodes = NODES[preset]
    platform = materialise(named_grid("grid4x4"))
    asked = problem("dt", preset)
    recording = record_events(RunSpec(Target(asked, platform, block(platform, nodes)), compute="none"), 1)
    sent = Counter(
        (rank, int(event["peer"]), int(event["size_bytes"]))
        for rank, events in enumerate(recording.events)
        for event in events[events["kind"] == Kind.SEND]
    )
    declared = Counter()
    for step in traffic(asked, nodes).last:
        if isinstance(step, Exchange):
            ends = zip(step.source.tolist(), step.destination.tolist(), step.size_bytes.tolist(), strict=True)
            declared.update(ends)
    assert sent == declared


def test_further_ranks_have_nothing_to_do(kernel):
    record = kernel("dt", "BH_S", 7, mode="verify")
    assert record.verified is True
    assert record.messages[5:] == (0, 0)


def test_fewer_ranks_than_nodes_are_refused(kernel):
    with pytest.raises(KernelError, match="the graph has 12 nodes and needs a rank for each, 11 ranks cannot hold"):
        kernel("dt", "SH_S", 11)
    with pytest.raises(KernelError, match="the graph has 12 nodes and needs a rank for each, 11 ranks cannot hold"):
        traffic(problem("dt", "SH_S"), 11)
    assert accepts(problem("dt", "SH_S"), 12)


def test_class_d_is_too_large_to_be_verified(kernel):
    with pytest.raises(KernelError, match="too large to be verified"):
        kernel("dt", "WH_D", 1, mode="verify")
