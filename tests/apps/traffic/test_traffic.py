"""The declared traffic of the kernels against what they compute and send."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

from apps.errors import KernelError
from apps.programs.kernel import kernel_names, named_kernel
from apps.programs.problem import problem, sized_problem
from apps.recording.events import Kind, Mark, Op
from apps.runs.engines import run_iterations
from apps.runs.record_events import record_events
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.traffic import accepts, declared_names, traffic
from apps.traffic.split import split_start
from apps.traffic.steps import AllToAll, Exchange, Sweep, totals
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

first_buckets = named_kernel("is").needed("traffic", "first_buckets")
COUNTS = ("messages", "bytes", "self_messages", "self_bytes")


@cache
def hosts_for_64():
    return materialise(named_grid("grid4x16", speeds_flops=[40e9] * 4))


def spec_of(app, preset, ranks):
    platform = hosts_for_64()
    return RunSpec(Target(problem(app, preset), platform, block(platform, ranks)), compute="none")


def check_totals(app, preset, ranks):
    """Compare the totals of an iteration and of the whole timed section, rank by rank."""
    spec = spec_of(app, preset, ranks)
    iterations = 2 if spec.target.problem.iterative else 1
    record = run_iterations(spec, iterations)
    declared = traffic(spec.target.problem, ranks)
    whole = declared.totals(iterations)
    for name in COUNTS:
        assert getattr(whole, name).tolist() == list(getattr(record, name))
    if spec.target.problem.iterative:
        iteration = totals(ranks, declared.iteration)
        for name in COUNTS:
            assert getattr(iteration, name).tolist() == list(getattr(record, f"iteration_{name}"))
        assert iteration.flops == pytest.approx(record.iteration_flops, rel=1e-12)
    assert whole.flops == pytest.approx(record.rank_flops, rel=1e-12)
    assert {op.name.lower() for op in whole.collectives} == set(record.collectives)
    for op, (calls, size_bytes) in whole.collectives.items():
        said = record.collectives[op.name.lower()]
        assert calls.tolist() == [said["calls"]] * ranks
        assert size_bytes.tolist() == list(said["bytes"])


@pytest.mark.parametrize(
    ("app", "ranks"),
    [("cg", 18), ("cg", 23), ("mg", 30), ("mg", 44), ("lu", 15), ("lu", 1), ("ep", 7), ("ft", 12)]
    + [(app, ranks) for app in ("bt", "sp") for ranks in (1, 5, 6, 9, 12)],
)
def test_declared_traffic_is_that_of_the_kernel(app, ranks):
    check_totals(app, "S", ranks)


@pytest.mark.parametrize(
    ("app", "ranks"),
    [("bt", 4), ("cg", 6), ("ep", 12), ("lu", 2), ("mg", 6), ("sp", 4), pytest.param("ft", 64, marks=pytest.mark.slow)],
)
def test_declared_traffic_of_class_e_is_that_of_the_skeleton(app, ranks):
    check_totals(app, "E", ranks)


@pytest.mark.slow
def test_expected_traffic_of_is_class_e_is_nearly_that_of_the_skeleton():
    check_keys("E", 64, iterations=1)


@pytest.mark.slow
@pytest.mark.parametrize("ranks", range(1, 65))
@pytest.mark.parametrize("app", ["cg", "mg", "lu", "ep", "ft", "bt", "sp"])
def test_declared_traffic_is_that_of_the_kernel_on_every_number_of_ranks(app, ranks):
    # Points of class W, where LU asks for 2 per rank, BT and SP for 2 per tile.
    long = not accepts(problem(app, "W"), ranks)
    check_totals(app, "C" if long else "W", ranks)


@pytest.mark.parametrize(("app", "ranks"), [("cg", 20), ("mg", 18), ("lu", 6), ("bt", 12), ("sp", 6)])
def test_declared_messages_go_where_those_of_the_kernel_go(app, ranks):
    spec = spec_of(app, "S", ranks)
    recording = record_events(spec, 3)
    sent = Counter()
    for rank, events in enumerate(recording.events):
        ends = np.flatnonzero((events["kind"] == Kind.MARK) & (events["op"] == Mark.ITERATION))
        second = events[ends[0] : ends[1]]
        for event in second[second["kind"] == Kind.SEND]:
            sent[rank, int(event["peer"]), int(event["size_bytes"])] += 1
    assert declared_messages(traffic(spec.target.problem, ranks).iteration) == sent


def declared_messages(steps):
    """Count the messages by (source, destination, bytes)."""
    found = Counter()
    for step in steps:
        if isinstance(step, Exchange):
            found.update(zip(step.source.tolist(), step.destination.tolist(), step.size_bytes.tolist(), strict=True))
        elif isinstance(step, Sweep):
            for axis, sizes in enumerate((step.x_bytes, step.y_bytes)):
                for rank in np.flatnonzero(step.has_next(axis)).tolist():
                    found[rank, rank + step.stride(axis), int(sizes[rank])] += step.planes
    return found


def test_lu_on_two_ranks_by_hand():
    # Class S: 12 points along each axis, 2 x 1 ranks of 6 x 12 points.  Every one of the 10 inner planes a face of 10
    # unknowns of 5 numbers, up in one sweep, down in the other; halos of 2 layers of 12 x 12 points.
    declared = traffic(problem("lu", "S"), 2)
    iteration = totals(2, declared.iteration)
    assert iteration.messages.tolist() == [10 + 1, 10 + 1]
    assert iteration.bytes.tolist() == [10 * 10 * 40 + 2 * 12 * 12 * 40] * 2


@pytest.mark.parametrize(
    ("app", "ranks", "refusal"),
    [
        ("cg", 1401, "1401 ranks need at least as many rows, na is 1400"),
        ("mg", 37, "37 ranks cannot have a point each along every axis, n is 32"),
        ("lu", 7, "7 ranks would form a grid of 7 x 1, which needs at least 14 points per direction, n is 12"),
        ("bt", 7, "7 ranks would cut the cube into 7 x 7 x 1 tiles, each of at least 2 points per direction, n is 12"),
        ("ep", 257, "257 ranks, but there are only 256 batches of pairs"),
        ("is", 3121, "3121 ranks are too many: rank 0 needs more than 20 of the 65536 keys"),
        ("ft", 67, "67 ranks cannot share 64 x 64 x 64 points: more than 64 must be a product of a number up to 64 "),
    ],
)
def test_numbers_of_ranks_that_a_kernel_refuses_have_no_traffic(app, ranks, refusal):
    with pytest.raises(KernelError, match=f"^{app} S on {ranks} ranks: {refusal}"):
        traffic(problem(app, "S"), ranks)
    assert not accepts(problem(app, "S"), ranks)


def test_a_program_without_declaration_is_refused_with_the_known_ones():
    assert set(declared_names()) <= set(kernel_names())
    with pytest.raises(KernelError, match=r"^traffic of fem: .*Known: bt, cg, ep, ft, himeno, lu, mg, sp, is"):
        traffic(sized_problem("fem", 32), 4)


def test_one_rank_of_cg_sends_nothing():
    assert traffic(problem("cg", "S"), 1).totals(1).messages.sum() == 0


def check_keys(preset, ranks, *, iterations):
    """Compare the expected traffic of IS with that of the kernel, whose keys are drawn."""
    spec = spec_of("is", preset, ranks)
    record, declared = run_iterations(spec, iterations), traffic(spec.target.problem, ranks)
    expected, params = declared.totals(iterations), dict(spec.target.problem.params)
    for name, rounding in (("allreduce", 0), ("alltoall", 0), ("alltoallv", 4 * ranks)):  # bytes of a rank's arguments
        calls, size_bytes = expected.collectives[Op[name.upper()]]
        said = record.collectives[name]
        assert calls.tolist() == [said["calls"]] * ranks
        assert size_bytes == pytest.approx(np.array(said["bytes"]), abs=rounding * iterations)
    # A fifth of an operation for each key received: the ranks' last buckets may be others, by one, if their shares of
    # the keys nearly end with a bucket.  The fullest buckets, in the middle, have 8/3 times as many keys as the mean.
    received = (np.array(record.rank_flops) - expected.flops) / 0.2 / iterations
    assert np.abs(received).max() < 1.5 * 8 / 3 * params["total_keys"] / params["num_buckets"]
    assert np.abs(received).mean() < 0.02 * params["total_keys"] / ranks


@pytest.mark.parametrize(("preset", "ranks"), [("S", 5), ("W", 7), ("A", 12)])
def test_expected_traffic_of_is_is_nearly_that_of_the_kernel(preset, ranks):
    check_keys(preset, ranks, iterations=1)


@pytest.mark.parametrize(("ranks", "counts"), [(4, [5, 1, 0, 6, 0, 0, 4, 8]), (3, [24, 0, 0, 0]), (5, [1, 1, 1, 17])])
def test_ranks_take_whole_buckets_until_they_have_their_share(ranks, counts):
    # The rule, bucket by bucket (docs/kernels/index.md): the next rank begins after a bucket that completes the share.
    keys, first, taken = sum(counts), [0], 0
    for bucket, count in enumerate(counts):
        taken += count
        if len(first) <= ranks and taken >= split_start(keys, ranks, len(first)):
            first.append(bucket + 1)
    taking = [*first, *[len(counts)] * ranks][:ranks]
    assert first_buckets(np.cumsum(counts).astype(float), keys, ranks).tolist() == [*taking, len(counts)]


def test_ft_on_more_ranks_than_planes_is_a_grid():
    # Class S has 64^3 points: 128 ranks are 64 x 2, of 2048 points of 16 byte each.  In an iteration lines along z
    # become lines along y among the 2 ranks of each place in x, those lines along x among the 64 of each half of z.
    halves, columns = (step for step in traffic(problem("ft", "S"), 128).iteration if isinstance(step, AllToAll))
    assert halves.group.tolist() == [[first, first + 1] for first in range(0, 128, 2)]
    assert columns.group.tolist() == [list(range(0, 128, 2)), list(range(1, 128, 2))]
    assert set(halves.size_bytes.flat) == {2048 * 16 // 2}
    assert set(columns.size_bytes.flat) == {2048 * 16 // 64}
