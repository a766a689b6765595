"""Traffic and shares for numbers of ranks that the official programs do not support."""

import functools
import math
import statistics
import subprocess

import pytest

from apps.programs.problem import problem
from apps.runs.engines import run_iterations
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

APPS = ("cg", "mg", "lu")


def block_of(n, p, place):
    """Return the points of place ``place`` of ``p`` along an axis in MG: floor(i n / p) up to floor((i + 1) n / p)."""
    return (place + 1) * n // p - place * n // p


@pytest.mark.parametrize(
    "ranks", [3, 5, 6, 7, 12, 20, 27, 48, *(pytest.param(ranks, marks=pytest.mark.slow) for ranks in (9, 18, 24, 36))]
)
@pytest.mark.parametrize("app", APPS)
def test_bytes_per_rank_lie_between_the_neighbouring_powers_of_two(kernel, app, ranks):
    if app == "lu" and ranks in (3, 5, 7):
        return check_prime_lu(kernel, ranks)

    power = 2 ** int(math.log2(ranks))
    low, high = sorted((mean_bytes(app, power), mean_bytes(app, 2 * power)))
    assert 0.75 * low <= mean_bytes(app, ranks) <= 1.25 * high


@functools.cache
def mean_bytes(app, ranks):
    """Return the traffic of a rank in an iteration of class W."""
    platform = materialise(named_grid("grid4x16", speeds_flops=[40e9] * 4))  # 64 ranks fit
    spec = RunSpec(Target(problem(app, "W"), platform, block(platform, ranks)), compute="none")
    return statistics.mean(run_iterations(spec, 1).iteration_bytes)


def check_prime_lu(kernel, ranks):
    """Check the bytes per rank on a prime number of ranks, by hand (P - 1) / P of the 2 cuts on 4 ranks.

    A prime number of ranks has only the grid P x 1, whose P - 1 cuts carry a whole face each.  The 2 (sqrt(P) - 1) cuts
    of a square grid carry no more each.
    """
    four = sum(kernel("lu", "W", 4, iterations=1).iteration_bytes)
    assert sum(kernel("lu", "W", ranks, iterations=1).iteration_bytes) == four * (ranks - 1) // 2


@pytest.mark.parametrize("ranks", [5, 7, 10, 12, 27, 36, 48])
def test_cg_ranks_have_few_partners(kernel, tmp_path, ranks):
    record = kernel("cg", "S", ranks, iterations=1)
    (tmp_path / "HOSTS").write_text("".join(f"{host}\n" for host in record.host))
    command = [record.command[0], "-trace-ti", "-trace-file", "trace", *record.command[1:]]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    for path in (tmp_path / "trace_files").iterdir():
        sends = [line.split() for line in path.read_text().splitlines() if line.split()[1] == "send"]
        assert len({words[2] for words in sends}) <= 3 * math.sqrt(ranks)


@pytest.mark.parametrize(
    ("ranks", "grid"), [(5, (5, 1)), (7, (7, 1)), (10, (5, 2)), (15, (5, 3)), (20, (5, 4)), (27, (9, 3)), (48, (8, 6))]
)
def test_lu_bytes_are_the_surfaces_of_its_blocks(kernel, ranks, grid):
    # By hand: a cut across the whole cube carries, per iteration, 2 sweeps of n - 2 planes with n - 2 points of 5
    # doubles, and two layers of n x n points both ways.  LU A on 2 ranks: 962880 bytes (NPB 3.3.1).
    n = 33
    cut = 2 * (n - 2) * (n - 2) * 40 + 2 * 2 * n * n * 40
    cuts = grid[0] - 1 + grid[1] - 1
    assert sum(kernel("lu", "W", ranks, iterations=1).iteration_bytes) == cuts * cut


@pytest.mark.parametrize(
    ("ranks", "grid"),
    [(3, (1, 1, 3)), (5, (1, 1, 5)), (12, (2, 2, 3)), (27, (3, 3, 3)), (36, (3, 3, 4)), (48, (3, 4, 4))],
)
def test_mg_bytes_are_the_surfaces_of_its_blocks(kernel, ranks, grid):
    surfaces = 0
    for level in range(1, 8):  # W: 2 to 128 points in each direction
        n = 2**level
        exchanges = 2 if level == 1 else 3  # restriction and smoothing, on other levels also the residual
        for place in range(ranks):
            x, rest = place % grid[0], place // grid[0]
            own = [block_of(n, p, i) for p, i in zip(grid, (x, rest % grid[1], rest // grid[1]), strict=True)]
            if 0 not in own:
                faces = own[1] * own[2] + (own[0] + 2) * own[2] + (own[0] + 2) * (own[1] + 2)
                surfaces += exchanges * 2 * 8 * faces
    sent = sum(kernel("mg", "W", ranks, iterations=1).iteration_bytes)
    # The difference is the few faces for ranks that own points of a level and none of the next coarser one.
    assert surfaces <= sent <= 1.03 * surfaces


@pytest.mark.parametrize(
    ("ranks", "cuts"),
    [(2, (2, 2, 1)), (5, (5, 5, 1)), (6, (6, 3, 2)), (8, (4, 4, 2)), (12, (6, 6, 2)), (16, (4, 4, 4))],
)
def test_bt_and_sp_bytes_are_the_faces_of_their_tiles(kernel, ranks, cuts):
    # By hand: a cut across the whole cube carries two layers of n x n points of 5 doubles both ways.  In SP each of its
    # (n - 2)^2 lines carries 22 numbers up and 10 down; BT's 30 and 5 have room for one line more along each tile.
    n = 36
    halo = 2 * 2 * n * n * 40
    assert sum(kernel("sp", "W", ranks, iterations=1).iteration_bytes) == sum(
        (cut - 1) * (halo + (n - 2) ** 2 * 32 * 8) for cut in cuts
    )
    n = 24  # a multiple of all cuts but 5
    room = [cut * (n // cut + 1) for cut in cuts]
    assert sum(kernel("bt", "W", ranks, iterations=1).iteration_bytes) == sum(
        (cut - 1) * (2 * 2 * n * n * 40 + math.prod(room) // room[axis] * 35 * 8) for axis, cut in enumerate(cuts)
    )


@pytest.mark.parametrize("ranks", [5, 27, 48])
def test_flops_are_charged_in_proportion_to_what_a_rank_owns(kernel, ranks):
    cg = kernel("cg", "W", ranks, iterations=1)
    # Every rank owns the same share of the matrix, to the rounding of its rows and columns; vectors are its columns'.
    assert max(cg.iteration_flops) / min(cg.iteration_flops) < 1.2
    lu = kernel("lu", "W", ranks, iterations=1).iteration_flops
    # By hand: 31 unknowns of 33 points along each axis; 48 ranks are 8 x 6 places, the first of 5 x 6 points.
    if ranks == 48:
        corner, inner = lu[0], lu[9]  # places (0, 0) and (1, 1): one layer of the corner's points is boundary
        assert corner / inner == pytest.approx((4 * 5) / (4 * 6), rel=1e-9)


def test_mg_flops_follow_uneven_blocks(kernel):
    # 3 places share 128 points as 42, 43, 43; on the finest level, which has nearly all the work, so do flops.
    flops = kernel("mg", "W", 3, iterations=1).iteration_flops
    assert flops[1] / flops[0] == pytest.approx(43 / 42, rel=1e-2)
    assert flops[2] / flops[1] == pytest.approx(1, rel=1e-2)
