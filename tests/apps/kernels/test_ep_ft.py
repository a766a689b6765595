"""EP and FT, beyond the tables for all kernels (data/README.md gives the sources of the figures)."""

import math
import subprocess

import pytest

from apps.errors import KernelError
from apps.programs.kernel import named_kernel
from apps.programs.problem import Problem, problem
from apps.results.record import RunRecord
from apps.run import main
from apps.runs.engines import run_iterations
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

PAIRS_PER_BATCH = 2**16


def on_nodes(kernel_name, preset, ranks, **options) -> RunRecord:
    """Return the record of one iteration on a single cluster of that many nodes."""
    platform = materialise(named_grid(f"grid1x{ranks}", speeds_flops=[1e9]))
    return run_iterations(
        RunSpec(Target(problem(kernel_name, preset), platform, block(platform, ranks)), **options), iterations=1
    )


def traffic_rows(reference, bench):
    return [row for row in reference("npb-traffic") if row["bench"] == bench]


def used(record, kind):
    """Return the calls and bytes of a collective, which are the same on every rank here."""
    entry = record.collectives.get(kind, {"calls": 0, "bytes": [0] * record.ranks})
    assert len(set(entry["bytes"])) == 1
    return entry["calls"], entry["bytes"][0]


# --- the timed section, on powers of two ---


def test_ep_calls_the_official_sums_and_nothing_else(kernel, reference):
    for row in traffic_rows(reference, "ep"):
        record = kernel("ep", row["class"], row["procs"])
        # The official program's last sum, of 8 bytes, is the maximum of the ranks' times, after the timed section.
        assert used(record, "allreduce") == (row["allreduce_calls"] - 1, row["allreduce_bytes_rank_max"] - 8)
        assert set(record.collectives) == {"allreduce"}
        assert sum(record.messages) == 0


def test_ft_calls_the_official_transpositions_and_sums_and_nothing_else(kernel, reference):
    for row in traffic_rows(reference, "ft"):
        record = kernel("ft", row["class"], row["procs"])
        # The official program transposes once more before the timed section, to warm up.
        calls, size_bytes = row["alltoall_calls"], row["alltoall_bytes_rank_max"]
        assert used(record, "alltoall") == (calls - 1, size_bytes * (calls - 1) // calls)
        assert used(record, "reduce") == (row["reduce_calls"], row["reduce_bytes_rank_max"])
        assert set(record.collectives) == {"alltoall", "reduce"}
        assert sum(record.messages) == 0


# One-way times between two clusters of platform-grid-ref.xml, by hand: latency of two node links, two backbones and a
# wide-area link, 4 x 50 us + 1 ms; node links of 125e6 byte/s; SimGrid 3.32's factors by size (shown by --help),
# 2.01467 and 0.812084 from 0 bytes, 11.6436 and 0.940694 from 65472.  Every message has 16 bytes more.
def one_way_s(size_bytes, *, both_ways=1.0):
    latency_factor, bandwidth_factor = (11.6436, 0.940694) if size_bytes >= 65472 else (2.01467, 0.812084)
    return 1.2e-3 * latency_factor + (size_bytes + 16) * both_ways / (125e6 * bandwidth_factor)


def test_ep_on_two_ranks_takes_two_messages_per_sum(kernel):
    # A sum goes to rank 0 and back.
    by_hand_s = 2 * (one_way_s(8) + one_way_s(8) + one_way_s(80))
    assert kernel("ep", "S", 2).time_s == pytest.approx(by_hand_s, rel=1e-4)


def test_ft_on_two_ranks_takes_seven_exchanges_of_half_a_share_and_six_sums(kernel):
    # Half of 64^3 / 2 points of 16 bytes cross each way at once, so that each direction carries the other's 5 % of
    # cross traffic too.  Rank 0 leaves the barrier before the timed section one small message earlier.
    by_hand_s = 7 * one_way_s(2**20, both_ways=1.05) + 6 * one_way_s(16) + one_way_s(0)
    assert kernel("ft", "S", 2).time_s == pytest.approx(by_hand_s, rel=1e-3)


@pytest.mark.parametrize(("name", "ranks"), [("ep", 5), ("ft", 6), ("ft", 8)])
def test_collectives_are_those_of_the_simulators_own_trace(kernel, tmp_path, name, ranks):
    record = kernel(name, "S", ranks)
    (tmp_path / "HOSTS").write_text("".join(f"{host}\n" for host in record.host))
    command = [record.command[0], "-trace-ti", "-trace-file", "trace", *record.command[1:]]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    for path in (tmp_path / "trace_files").iterdir():
        calls = [line.split()[1] for line in path.read_text().splitlines()]
        for kind in ("allreduce", "reduce", "bcast", "alltoall", "alltoallv", "send"):
            assert calls.count(kind) == record.collectives.get(kind, {"calls": 0})["calls"]


# --- operations ---


@pytest.mark.parametrize("ranks", [1, 5, 48])
@pytest.mark.parametrize("preset", "SWABC")
def test_ft_flops_are_the_official_formula(kernel, preset, ranks):
    params = named_kernel("ft").classes[preset]
    n = params["nx"] * params["ny"] * params["nz"]
    # README of the reference figures, "ft"; natural logarithms.
    before, each = n * (14.8157 + 7.19641 * math.log(n)), n * (5.23518 + 7.21113 * math.log(n))
    record = kernel("ft", preset, ranks, iterations=1)
    assert record.flops == pytest.approx(before + each, rel=1e-12)
    assert sum(record.iteration_flops) == pytest.approx(each, rel=1e-12)


@pytest.mark.parametrize(("preset", "ranks"), [("S", 1), ("S", 48), ("A", 7), ("D", 48)])
def test_ep_counts_the_official_random_numbers(kernel, preset, ranks):
    record = kernel("ep", preset, ranks)
    m = named_kernel("ep").classes[preset]["m"]
    assert record.flops == 2 ** (m + 1)
    # Batches of 2^16 pairs, as evenly as possible, the first ranks one more.
    batches, extra = divmod(2 ** (m - 16), ranks)
    assert record.rank_flops == tuple(2 * PAIRS_PER_BATCH * (batches + (rank < extra)) for rank in range(ranks))


# --- verification ---


def test_ft_checksums_are_those_of_the_official_sources(reference):
    rows = reference("ft-checksums")
    assert len(rows) == 3 * 6 + 2 * 20
    for row in rows:
        ours = named_kernel("ft").classes[row["class"]]
        for part in ("real", "imaginary"):
            assert ours[f"{part}{row['iteration']}"] == row[part]
    for preset, ours in named_kernel("ft").classes.items():
        known = 0 if preset in "DE" else ours["niter"]  # no source at hand has those of D and E
        assert sum(name.startswith("real") for name in ours) == known, preset


@pytest.mark.parametrize("name", ["ft", "ep"])
def test_a_wrong_digit_in_a_published_value_fails_the_verification(name):
    last, value = problem(name, "S").params[-1]
    wrong = Problem(name, (*problem(name, "S").params[:-1], (last, value * (1 + 3e-8))), "S")
    platform = materialise(named_grid("grid1x2", speeds_flops=[1e9]))
    spec = RunSpec(Target(wrong, platform, block(platform, 2)), mode="verify")
    assert run_iterations(spec, spec.target.iterations).verified is False


# --- any number of ranks ---


@pytest.mark.parametrize(
    ("preset", "ranks"), [("S", 3), ("S", 5), ("S", 27), ("S", 48), ("W", 31), ("A", 7), ("A", 48), ("B", 36)]
)
def test_an_ft_transposition_of_slabs_moves_every_point_once_and_leaves_each_rank_its_share(preset, ranks):
    record = on_nodes("ft", preset, ranks)
    params = named_kernel("ft").classes[preset]
    n = params["nx"] * params["ny"] * params["nz"]
    (kind,) = set(record.iteration_collectives) - {"reduce"}
    moved = record.iteration_collectives[kind]
    assert moved["calls"] == 1
    assert sum(moved["bytes"]) == 16 * n
    # A rank sends back what it owned: whole columns, whose numbers differ by at most one between ranks.
    assert all(abs(size_bytes - 16 * n / ranks) <= 16 * params["nz"] for size_bytes in moved["bytes"])


@pytest.mark.parametrize(
    ("preset", "ranks", "calls"),
    # 64 = 32 x 2 is the benchmark's own grid, and 48 = 3 x 16 the one with the smallest largest share: 86 of 85.3 rows.
    # 37 is a prime, and slabs across y, of at most 128 planes.
    [("W", 64, 2), ("W", 48, 2), ("W", 37, 1), ("S", 65, 2)],
)
def test_more_ranks_than_planes_transpose_twice_in_a_grid(preset, ranks, calls):
    record = on_nodes("ft", preset, ranks)
    params = named_kernel("ft").classes[preset]
    moved = [entry for kind, entry in record.iteration_collectives.items() if kind != "reduce"]
    assert sum(entry["calls"] for entry in moved) == calls
    assert sum(sum(entry["bytes"]) for entry in moved) == calls * 16 * params["nx"] * params["ny"] * params["nz"]


def test_ft_on_the_benchmarks_own_grid_of_64_ranks_uses_blocks_of_one_size():
    # Class W has 32 planes: 32 x 2 ranks, and both transpositions are of 16 N / P bytes per rank.
    share = 16 * 128 * 128 * 32 // 64
    moved = on_nodes("ft", "W", 64).iteration_collectives
    assert moved["alltoall"] == {"calls": 2, "bytes": [2 * share] * 64}
    assert "alltoallv" not in moved


@pytest.mark.parametrize(("preset", "ranks"), [("W", 37), pytest.param("W", 64, marks=pytest.mark.slow), ("S", 65)])
def test_ft_in_a_grid_passes_the_official_verification(preset, ranks):
    platform = materialise(named_grid(f"grid1x{ranks}", speeds_flops=[1e9]))
    spec = RunSpec(Target(problem("ft", preset), platform, block(platform, ranks)), mode="verify")
    assert run_iterations(spec, 6).verified is True


@pytest.mark.parametrize(("name", "ranks", "reason"), [("ft", 67, "67 ranks cannot share"), ("ep", 257, "256 batches")])
def test_too_many_ranks_are_refused_with_the_reason(name, ranks, reason):
    with pytest.raises(KernelError, match=reason):
        on_nodes(name, "S", ranks)


# --- a program without iterations on the command line ---


def test_the_summary_of_ep_has_no_iterations(capsys):
    assert main("--app ep --scenario grid4x2".split()) == 0
    said = capsys.readouterr().out
    assert "allreduce     3 with 768 bytes\n" in said  # by hand: 8 ranks x (8 + 8 + 80) bytes
    assert "iteration" not in said
    assert "messages" not in said  # the sums' messages are its only ones


def test_the_summary_of_ft_has_its_collectives(capsys):
    assert main("--app ft --scenario grid4x2".split()) == 0
    # By hand: 7 transpositions of 64^3 points of 16 bytes.
    assert "alltoall      7 with 29360128 bytes; per iteration 1 with 4194304 bytes\n" in capsys.readouterr().out


@pytest.mark.parametrize("iterations", ["1", "5"])
def test_iterations_of_ep_cannot_be_counted(capsys, iterations):
    assert main(f"--app ep --scenario grid4x2 --iterations {iterations}".split()) == 2
    assert "ep S has no iterations" in capsys.readouterr().err


@pytest.mark.parametrize("policy", ["steady", "full"])
def test_ep_is_simulated_whole_whatever_the_policy(kernel, capsys, policy):
    assert main(f"--app ep --class A --scenario grid4x2 --iterations {policy}".split()) == 0
    # By hand: 2^29 random numbers over 8 ranks, the slowest of 40e9 operations per second at 0.17 %.
    assert f"computing {2**26 / (0.0017 * 40e9):.6g} s" in capsys.readouterr().out
