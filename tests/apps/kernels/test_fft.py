"""FFT: one transform of N points, against numpy and by hand (docs/kernels/index.md)."""

import cmath
import json
import math
import subprocess

import numpy as np
import pytest

from apps.kernels.harness.random import centred, states
from apps.programs.kernel import named_kernel
from apps.programs.problem import sized_problem
from apps.run import main
from apps.runs.engines import run_iterations
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

POINT_BYTES = 16


def numbers_by_definition(count):
    """5^(13 k) 314159265 mod 2^46 as fractions minus 1/2, k = 1, 2 ... (RNR-94-007, 2.3), in Python's integers."""
    state, numbers = 314159265, []
    for _ in range(count):
        state = state * 5**13 % 2**46
        numbers.append(state / 2**46 - 0.5)
    return numbers


def input_and_weights(n):
    numbers = np.array(numbers_by_definition(3 * n))
    return numbers[0 : 2 * n : 2] + 1j * numbers[1 : 2 * n : 2], numbers[2 * n :]


def computed(record, name):
    return complex(*(record.checks[f"{name}_{part}"][0] for part in ("real", "imaginary")))


# --- verification ---


# P^2 = N; lengths with one equal to 1; exponents with all remainders modulo 3, which determine how N is split.
CASES = [(2, 1), (4, 2), (8, 1), (8, 2), (64, 8), (128, 4), (512, 2), (1024, 32), (4096, 1), (8192, 16), (32768, 4)]


@pytest.mark.parametrize(("n", "ranks"), CASES)
def test_the_transform_is_that_of_numpy(sized, n, ranks):
    record = sized("fft", n, ranks, mode="verify")
    assert record.verified
    points, weights = input_and_weights(n)
    outputs = np.fft.fft(points)
    # Errors of an FFT are a few eps sqrt(log2 N) of the outputs' root mean square, sqrt(N / 6), here weighed by N
    # numbers below 1/2 at most.
    error = 10 * np.finfo(float).eps * math.sqrt(math.log2(n) * n / 6)
    assert abs(computed(record, "at_1") - outputs[1]) <= error
    assert abs(computed(record, "at_third") - outputs[n // 3]) <= error
    assert abs(computed(record, "at_last") - outputs[n - 1]) <= error
    assert abs(computed(record, "sum") - np.dot(weights, outputs)) <= math.sqrt(n) * error


def test_the_transform_is_the_sum_that_defines_it(sized):
    points, weights = input_and_weights(16)
    outputs = [sum(u * cmath.exp(-2j * cmath.pi * j * k / 16) for j, u in enumerate(points)) for k in range(16)]
    record = sized("fft", 16, 4, mode="verify")
    assert computed(record, "at_1") == pytest.approx(outputs[1], rel=1e-13)
    assert computed(record, "at_third") == pytest.approx(outputs[5], rel=1e-13)
    assert computed(record, "at_last") == pytest.approx(outputs[15], rel=1e-13)
    assert computed(record, "sum") == pytest.approx(sum(weights * outputs), rel=1e-13)


@pytest.mark.parametrize(("n", "ranks"), CASES)
def test_the_inverse_returns_the_input_as_hpc_challenge_asks(sized, n, ranks):
    error, limit = sized("fft", n, ranks, mode="verify").checks["inverse_error"]
    assert limit == 16
    assert error < 1  # only from rounding
    assert error > 0 or n <= 4  # their roots of unity are exact


def test_the_references_start_from_the_generators_own_numbers():
    assert list(centred(states(1000))) == numbers_by_definition(1000)


def repeat(record, tmp_path, **changed):
    """Return the output of the kernel with some changed arguments."""
    (tmp_path / "HOSTS").write_text("".join(f"{host}\n" for host in record.host))
    command = [
        f"{name}={changed[name]}" if (name := word.partition("=")[0]) in changed else word for word in record.command
    ]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    return json.loads(next(line for line in done.stdout.splitlines() if line.startswith("{")))


@pytest.mark.parametrize("name", ["sum_real", "at_1_imaginary", "at_third_real", "at_last_imaginary"])
def test_a_wrong_digit_in_a_reference_fails_the_verification(sized, tmp_path, name):
    record = sized("fft", 4096, 4, mode="verify")
    value = record.checks[name][1]
    assert repeat(record, tmp_path)["verified"] is True
    assert repeat(record, tmp_path, **{name: repr(value * (1 + 3e-10))})["verified"] is False


def test_the_transforms_of_lines_that_ft_has_too_belong_to_the_programs_identity():
    kernel = named_kernel("fft")
    shared = named_kernel("ft").folder
    assert {shared / "fft.c", shared / "fft.h"} <= {path.resolve() for path in (*kernel.sources, *kernel.headers)}


# --- messages, flops and time ---


@pytest.mark.parametrize(("n", "ranks"), [(2, 1), (256, 16), (4096, 4), (2**16, 32)])
def test_three_all_to_alls_move_every_point_and_nothing_else_is_sent(sized, n, ranks):
    record = sized("fft", n, ranks)
    share = n // ranks * POINT_BYTES
    transposed = {"alltoall": {"calls": 3, "bytes": [3 * share] * ranks}} if ranks > 1 else {}
    assert {kind: {**entry, "bytes": list(entry["bytes"])} for kind, entry in record.collectives.items()} == transposed
    assert sum(record.messages) == 0


@pytest.mark.parametrize(("n", "ranks"), [(2, 1), (64, 8), (4096, 4), (2**23, 16), (2**30, 1)])
def test_flops_are_5_n_log2_n_each_rank_its_share(sized, n, ranks):
    record = sized("fft", n, ranks)
    assert record.rank_flops == (5 * n // ranks * (n.bit_length() - 1),) * ranks


@pytest.mark.parametrize(("n", "ranks"), [(2**14, 1), (2**14, 2), (2**14, 16), (1024, 32)])
def test_skeleton_and_verification_take_the_same_time(sized, n, ranks):
    skeleton, verify = (sized("fft", n, ranks, mode=mode, compute="injected") for mode in ("skeleton", "verify"))
    assert skeleton.time_s == pytest.approx(verify.time_s, rel=1e-9)
    assert skeleton.compute_s == pytest.approx(verify.compute_s, rel=1e-9)
    assert skeleton.collectives == verify.collectives
    assert skeleton.rank_flops == verify.rank_flops
    assert (skeleton.verified, verify.verified) == (None, True)


def test_a_rank_is_busy_for_its_flops_over_its_speed():
    platform = materialise(named_grid("grid2x2", speeds_flops=[1e9, 2e9]))
    target = Target(sized_problem("fft", 2**16), platform, block(platform, 4))
    flops = 5 * 2**14 * 16  # of each of the four ranks
    busy_s = [flops / (0.1 * speed) for speed in (1e9, 1e9, 2e9, 2e9)]
    assert run_iterations(RunSpec(target, efficiency=0.1), 1).compute_s == pytest.approx(busy_s, rel=1e-9)


def test_on_two_ranks_it_takes_three_exchanges_of_half_a_share(sized):
    # Half of 2^18 / 2 points, 2^20 bytes, cross each way at once between two clusters of platform-grid-ref.xml: 1.2 ms
    # of latency and node links of 125e6 byte/s, with SimGrid 3.32's factors of messages above 65472 bytes, 16 bytes
    # more, and 5 % of each other's traffic.  Rank 0 leaves the barrier before the timed section a small message
    # earlier.
    exchange_s = 1.2e-3 * 11.6436 + (2**20 + 16) * 1.05 / (125e6 * 0.940694)
    barrier_s = 1.2e-3 * 2.01467 + 16 / (125e6 * 0.812084)
    assert sized("fft", 2**18, 2).time_s == pytest.approx(3 * exchange_s + barrier_s, rel=1e-3)


def test_the_largest_transform_of_the_paper_takes_little_memory_without_arithmetic(sized):
    # The points alone are 134 MB, twice; measured on 32 ranks, SimGrid 3.32: 46 MB.
    assert sized("fft", 2**23, 32).peak_memory_bytes < 100e6


# --- refusals ---


@pytest.mark.parametrize(
    ("n", "ranks", "mode", "problem"),
    [
        (12, 1, "verify", "n is 12, not a power of two"),
        (1, 1, "verify", "n is 1, not a power of two from 2"),
        (2**31, 1, "skeleton", "too large for fft. Give an integer from 1 to 1073741824"),
        (4096, 3, "verify", "3 ranks are not a power of two"),
        (128, 16, "skeleton", "not a multiple of the square of 16 ranks"),
        (2**28, 4, "verify", "too large to be verified"),
    ],
)
def test_what_the_benchmark_cannot_do_is_refused_in_one_line(capsys, n, ranks, mode, problem):
    arguments = f"--app fft --size {n} --ranks {ranks} --mode {mode} --scenario grid4x4"
    assert main(arguments.split()) == 2
    error = capsys.readouterr().err.strip()
    assert problem in error
    assert "\n" not in error
