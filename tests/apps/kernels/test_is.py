"""Integer sort: the keys that ranks send each other, counted from the specification (RNR-94-007, 2.3 and 2.6)."""

import subprocess

import numpy as np
import pytest

from apps.errors import KernelError
from apps.programs.kernel import named_kernel
from apps.programs.problem import Problem, problem
from apps.runs.engines import run_iterations
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

ITERATIONS = 10


def sequence(total, max_key):
    """Return all keys, computed one by one: x' = 5^13 x mod 2^46 from 314159265; four numbers in (0, 1) per key."""
    x, keys = 314159265, []
    for _ in range(total):
        mean = 0.0
        for _ in range(4):
            x = x * 5**13 % 2**46
            mean += x / 2**46 / 4
        keys.append(int(max_key * mean))
    return np.array(keys)


def sent_keys(keys, ranks, iteration, *, max_key, num_buckets, **_):
    """Return the matrix of keys that rank i sends to rank j in an iteration, counted from 1."""
    keys = keys.copy()
    for i in range(1, iteration + 1):
        keys[i], keys[i + ITERATIONS] = i, max_key - i
    owner = np.concatenate([np.full(len(part), r) for r, part in enumerate(np.array_split(keys, ranks))])
    bucket = keys // (max_key // num_buckets)
    share = np.cumsum([len(part) for part in np.array_split(keys, ranks)])
    receiver, rank, so_far = np.empty(num_buckets, int), 0, 0
    for b, size in enumerate(np.bincount(bucket, minlength=num_buckets)):
        receiver[b] = rank
        so_far += size
        if rank < ranks - 1 and so_far >= share[rank]:
            rank += 1
    sent = np.zeros((ranks, ranks), int)
    np.add.at(sent, (owner, receiver[bucket]), 1)
    return sent


def traced_keys(record, folder):
    """Return for each iteration the matrix of alltoallv counts in SMPI's time-independent trace."""
    folder.mkdir()
    (folder / "HOSTS").write_text("".join(f"{host}\n" for host in record.host))
    command = [record.command[0], "-trace-ti", "-trace-file", "trace", *record.command[1:]]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    rows = []
    for path in sorted((folder / "trace_files").iterdir(), key=lambda path: int(path.stem.rpartition("-")[2])):
        lines = [line.split() for line in path.read_text().splitlines()]
        # rank alltoallv <total sent> <counts sent> <total received> <counts received> <types>
        rows.append([list(map(int, words[3 : 3 + record.ranks])) for words in lines if words[1] == "alltoallv"])
    return np.array(rows).swapaxes(0, 1)


@pytest.fixture(scope="module")
def keys_s():
    params = named_kernel("is").classes["S"]
    return sequence(params["total_keys"], params["max_key"])


@pytest.mark.parametrize("mode", ["skeleton", "verify"])
@pytest.mark.parametrize("ranks", [4, 7, 27])
def test_every_rank_sends_the_keys_that_the_specification_gives_it(kernel, keys_s, tmp_path, ranks, mode):
    traced = traced_keys(kernel("is", "S", ranks, mode=mode), tmp_path / "run")
    assert traced.shape == (ITERATIONS, ranks, ranks)
    for i in range(ITERATIONS):
        np.testing.assert_array_equal(traced[i], sent_keys(keys_s, ranks, i + 1, **named_kernel("is").classes["S"]))


@pytest.mark.parametrize("ranks", [3, 27, 48])
def test_collectives_are_the_benchmarks_for_any_number_of_ranks(kernel, ranks):
    record = kernel("is", "S", ranks)
    # By hand: 65536 keys as evenly as possible; 512 buckets and 5 tested keys; integers of 4 bytes.
    share, more = divmod(65536, ranks)
    keys = [4 * (share + (r < more)) for r in range(ranks)]
    assert record.iteration_collectives == {
        "allreduce": {"calls": 1, "bytes": [4 * 517] * ranks},
        "alltoall": {"calls": 1, "bytes": [4 * ranks] * ranks},
        "alltoallv": {"calls": 1, "bytes": keys},
    }
    assert record.collectives["alltoallv"] == {"calls": ITERATIONS, "bytes": [ITERATIONS * n for n in keys]}


def test_operations_are_charged_to_owner_and_receiver(kernel, keys_s):
    sent = sent_keys(keys_s, 7, 1, **named_kernel("is").classes["S"])
    charged = 0.8 * sent.sum(axis=1) + 0.2 * sent.sum(axis=0)
    assert kernel("is", "S", 7, iterations=1).iteration_flops == pytest.approx(charged, rel=1e-12)


def test_a_wrong_rank_fails_the_verification():
    platform = materialise(named_grid("grid1x4", speeds_flops=[1e9]))
    params = dict(problem("is", "S").params)
    wrong = tuple({**params, "test_rank2": params["test_rank2"] + 1}.items())
    target = Target(Problem("is", wrong), platform, block(platform, 3))
    record = run_iterations(RunSpec(target, mode="verify"), 4)
    assert record.verified is False
    assert record.checks["tests_passed"] == [4 * 4, 4 * 5]  # one of five tests fails in each of 4 iterations
    assert record.checks["keys_out_of_order"] == [0, 0]


def test_class_d_is_refused_on_fewer_ranks_than_the_benchmark_allows(kernel):
    with pytest.raises(KernelError, match="3 ranks cannot hold them"):
        kernel("is", "D", 3)
