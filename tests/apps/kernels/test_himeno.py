"""The Himeno benchmark: HimenoBMTxp 3.0, C with MPI (R. Himeno, RIKEN), on any cube and any number of ranks."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from apps.errors import KernelError
from apps.kernels.himeno import reference
from apps.programs.compile import FLAGS
from apps.programs.kernel import named_kernel
from apps.programs.problem import sized_problem
from apps.recording.events import Op
from apps.run import main
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.traffic import traffic
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from platforms.simgrid.compiling import compile_once

DATA = Path(__file__).parents[1] / "data"
# The most even factors, by hand.
GRIDS = {
    1: (1, 1, 1), 2: (2, 1, 1), 3: (3, 1, 1), 5: (5, 1, 1), 7: (7, 1, 1), 8: (2, 2, 2), 12: (3, 2, 2), 18: (3, 3, 2),
    19: (19, 1, 1), 20: (5, 2, 2), 27: (3, 3, 3), 36: (4, 3, 3), 48: (4, 4, 3),
}  # fmt: skip
CASES = [(3, 1), (4, 2), (4, 8), (17, 3), (20, 5), (9, 7), (33, 8), (26, 12), (24, 18), (32, 19), (12, 27), (33, 48)]
RUN = {"compute": "injected", "efficiency": 0.01, "niter": 7}


def owned(n, ranks):
    """Return each rank's points along x, y, z: the n - 2 inner points split evenly, one more for the first places."""
    px, py, pz = GRIDS[ranks]
    share = [[(n - 2) // p + (i < (n - 2) % p) for i in range(p)] for p in (px, py, pz)]
    return [(x, y, z) for x in share[0] for y in share[1] for z in share[2]]


def places(ranks):
    return list(np.ndindex(GRIDS[ranks]))


# --- verification ---


@pytest.mark.parametrize(("size", "ranks"), CASES)
def test_ranks_arrive_at_the_pressure_of_serial_arithmetic(sized, size, ranks):
    record = sized("himeno", size, ranks, mode="verify", **RUN)
    assert record.verified is True
    computed, wanted = record.checks["gosa"]
    # A float per rank is rounded, then added to: ranks roundings of 2^-24 at most.
    assert computed == pytest.approx(wanted, rel=ranks * 2**-24)
    assert {"p_sum_deviation", "p_squares_deviation"} < record.checks.keys()


def test_the_pressure_has_the_same_bits_on_any_number_of_ranks(sized):
    # Sums of doubles in another order differ by about 1e-16.  An error in the last place of one point at 1/2 would make
    # 2^-24 of a sum of 1e4: 6e-12.
    for ranks in (8, 48):
        checks = sized("himeno", 33, ranks, mode="verify", **RUN).checks
        assert max(checks["p_sum_deviation"][0], checks["p_squares_deviation"][0]) < 1e-14


def test_the_first_residual_is_that_of_a_parabola():
    # By hand: p = (i / (n - 1))^2 has the second difference 2 / (n - 1)^2, a sixth of which is the residual everywhere;
    # p is known to 2^-25, the residual of 1 / 4800 to 1e-3.
    for n in (5, 17, 41):
        by_hand = (n - 2) ** 3 * (1 / (3 * (n - 1) ** 2)) ** 2
        assert reference.references({"n": n, "niter": 1}, 1)["gosa"] == pytest.approx(by_hand, rel=1e-3)


def test_iterations_lead_to_the_solution_of_laplaces_equation():
    # scipy's sparse solve, in double precision, of the seven-point equation with the given boundary.
    from scipy.sparse import diags, identity, kron
    from scipy.sparse.linalg import spsolve

    n = 12
    second = diags([1.0, -2.0, 1.0], [-1, 0, 1], shape=(n - 2, n - 2))
    one = identity(n - 2)
    laplace = kron(kron(second, one), one) + kron(kron(one, second), one) + kron(kron(one, one), second)
    p = np.broadcast_to(((np.arange(n) / (n - 1)) ** 2)[:, None, None], (n, n, n)).copy()
    p[1:-1, 1:-1, 1:-1] = 0
    boundary = -6 * p
    for axis in range(3):
        boundary += np.roll(p, 1, axis) + np.roll(p, -1, axis)
    solution = spsolve(laplace.tocsc(), -boundary[1:-1, 1:-1, 1:-1].ravel())
    found = reference.references({"n": n, "niter": 600}, 1)
    # A thousand points, each known to a few 2^-24.
    assert found["p_sum"] == pytest.approx(solution.sum(), rel=1e-5)
    assert found["p_squares"] == pytest.approx((solution**2).sum(), rel=1e-5)
    assert found["gosa"] < 1e-9


@pytest.mark.parametrize(("key", "error"), [("gosa", 1e-6), ("p_sum", 1e-13), ("p_squares", -1e-13)])
def test_a_wrong_reference_fails_the_verification(sized, monkeypatch, key, error):
    right = reference.references

    def wrong(params, nranks):
        values = right(params, nranks)
        return {**values, key: values[key] * (1 + error)}

    monkeypatch.setattr(reference, "references", wrong)
    record = sized.__wrapped__("himeno", 17, 8, mode="verify", niter=3)  # not from the cache
    assert record.verified is False


def test_fewer_iterations_than_asked_for_are_not_judged(sized):
    assert sized("himeno", 17, 8, mode="verify", iterations=2, niter=3).verified is None


# --- the stencil of 19 points, of which the benchmark's coefficients leave 7 ---


def varied(array, n):
    x, y, z = np.ogrid[:n, :n, :n]
    return (((37 * array + 13 * x + 29 * y + 53 * z + x * y * z) % 129 - 64) / 256).astype(np.float32)


def serial_general(n, iterations):
    """Do the same as himeno_general.c with whole arrays: gosa of the last iteration, and the sums of p and p^2."""
    arrays = [varied(i, n)[1:-1, 1:-1, 1:-1] for i in range(11)]
    a, b, c, source = arrays[:4], arrays[4:7], arrays[7:10], arrays[10]
    x, y, z = np.ogrid[1 : n - 1, 1 : n - 1, 1 : n - 1]
    fluid = ((x + 2 * y + 3 * z) % 5 != 0).astype(np.float32)
    p = reference.initial_pressure(n)

    def at(dx, dy, dz):
        return p[1 + dx : n - 1 + dx, 1 + dy : n - 1 + dy, 1 + dz : n - 1 + dz]

    for _ in range(iterations):
        s0 = a[0] * at(1, 0, 0) + a[1] * at(0, 1, 0) + a[2] * at(0, 0, 1)
        s0 = s0 + b[0] * (at(1, 1, 0) - at(1, -1, 0) - at(-1, 1, 0) + at(-1, -1, 0))
        s0 = s0 + b[1] * (at(0, 1, 1) - at(0, -1, 1) - at(0, 1, -1) + at(0, -1, -1))
        s0 = s0 + b[2] * (at(1, 0, 1) - at(-1, 0, 1) - at(1, 0, -1) + at(-1, 0, -1))
        s0 = s0 + c[0] * at(-1, 0, 0) + c[1] * at(0, -1, 0) + c[2] * at(0, 0, -1) + source
        ss = (s0 * a[3] - at(0, 0, 0)) * fluid
        new = at(0, 0, 0) + np.float32(0.8) * ss
        p[1:-1, 1:-1, 1:-1] = new
    assert ss.dtype == p.dtype == np.float32
    inner = p[1:-1, 1:-1, 1:-1].astype(float)
    return float((ss * ss).sum(dtype=float)), inner.sum(), (inner**2).sum()


@pytest.mark.parametrize("ranks", [1, 5, 12, 27, 48])
def test_the_stencil_has_19_points_and_halos_have_edges(sized, tmp_path, ranks):
    kernel = named_kernel("himeno")
    sources = [path for path in kernel.sources if path.name != "himeno.c"]
    program = compile_once(
        "himeno_general",
        [DATA / "himeno_general.c", *sources],
        compiler=["smpicc"],
        flags=[*FLAGS, f"-I{kernel.folder.parent}"],
        libraries=["-lm"],
        headers=kernel.headers,
    )
    record = sized("himeno", 20, ranks, mode="skeleton", iterations=1)
    (tmp_path / "HOSTS").write_text("".join(f"{host}\n" for host in record.host))
    kernel_place = next(i for i, word in enumerate(record.command) if "compiled/himeno-" in word)
    command = [*record.command[:kernel_place], program, "mode=verify", "flop_scale=0", "iterations=4", "n=20"]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    found = [float(word) for word in done.stdout.split()]
    assert found == pytest.approx(serial_general(20, 4), rel=1e-13)


# --- skeleton ---


@pytest.mark.parametrize(("size", "ranks"), CASES)
def test_a_skeleton_does_all_but_the_arithmetic(sized, size, ranks):
    skeleton, verify = (sized("himeno", size, ranks, mode=mode, **RUN) for mode in ("skeleton", "verify"))
    assert skeleton.time_s == pytest.approx(verify.time_s, rel=1e-9)
    assert skeleton.verified is None
    for field in ("messages", "bytes", "collectives", "rank_flops", "iteration_flops", "iteration_bytes"):
        assert getattr(skeleton, field) == getattr(verify, field)


@pytest.mark.parametrize(("size", "ranks"), [(256, 20), (256, 48), (1025, 48)])
def test_a_skeleton_is_small(sized, size, ranks):
    record = sized("himeno", size, ranks, iterations=5)
    assert record.peak_memory_bytes < 100e6  # arrays would take 56 bytes per point: 0.9 and 60 GB


# --- messages, by hand ---


@pytest.mark.parametrize(("size", "ranks"), [(32, p) for p in GRIDS])
def test_halos_are_whole_planes_to_every_neighbour(sized, size, ranks):
    record = sized("himeno", size, ranks, iterations=2)
    messages, sent = [], []
    for own, place in zip(owned(size, ranks), places(ranks), strict=True):
        # To each neighbouring rank: a plane, with one more point at each end of its two sides.
        neighbours = [(at > 0) + (at < p - 1) for at, p in zip(place, GRIDS[ranks], strict=True)]
        x, y, z = (points + 2 for points in own)
        messages.append(sum(neighbours))
        sent.append(4 * (neighbours[0] * y * z + neighbours[1] * x * z + neighbours[2] * x * y))
    assert record.iteration_messages == tuple(messages)
    assert record.iteration_bytes == tuple(sent)
    assert record.messages == tuple(2 * count for count in messages)
    assert sum(record.self_messages) == 0
    assert record.iteration_collectives == {"allreduce": {"calls": 1, "bytes": [4] * ranks}}


# One way between two clusters of platform-grid-ref.xml, as in test_ep_ft.py: SimGrid 3.32's factors of latency and
# bandwidth from a size on (shown by --help), for the sizes here.
FACTORS = [(65472, 11.6436, 0.940694), (3484, 1.88101, 0.77493), (0, 2.01467, 0.812084)]


def one_way_s(size_bytes, *, both_ways=1.0):
    latency, bandwidth = next(factors for least, *factors in FACTORS if size_bytes >= least)
    return 1.2e-3 * latency + (size_bytes + 16) * both_ways / (125e6 * bandwidth)


@pytest.mark.parametrize("size", [32, 256])
def test_an_iteration_on_two_ranks_takes_a_plane_both_ways_and_a_sum(sized, size):
    # A plane of 4 n^2 bytes goes each way at once, so that each carries 5 % of the other's cross traffic too; the sum
    # goes to rank 0 and back.
    by_hand_s = one_way_s(4 * size**2, both_ways=1.05) + 2 * one_way_s(4)
    ends = sized("himeno", size, 2, iterations=3).iteration_s[0]
    assert ends[2] - ends[1] == pytest.approx(by_hand_s, rel=1e-3)


# --- grids of ranks ---


@pytest.mark.parametrize(
    ("grid", "ranks"), [("slabs", 6), ("slabs", 7), ("pencils", 6), ("pencils", 7), ("pencils", 9)]
)
def test_slabs_and_pencils_compute_the_same_pressure(sized, grid, ranks):
    assert sized("himeno", 17, ranks, mode="verify", grid=grid, **RUN).verified is True


@pytest.mark.parametrize("ranks", [2, 6, 8])
def test_slabs_exchange_whole_planes_whatever_their_number(sized, ranks):
    # By hand: 4 bytes for each of N^2 points, to one neighbour at the ends and to two between them.
    record = sized("himeno", 32, ranks, iterations=2, grid="slabs")
    assert record.iteration_bytes == tuple(4 * 32**2 * (1 if rank in (0, ranks - 1) else 2) for rank in range(ranks))


def test_pencils_exchange_along_two_axes(sized):
    # By hand: 30 inner points, 3 x 2 ranks, blocks of 10 x 15 x 30 points; a plane across x has 17 x 32 points, one
    # across y 12 x 32.  The middle two ranks have two neighbours along x, every rank has one along y.
    record = sized("himeno", 32, 6, iterations=2, grid="pencils")
    x, y = 4 * 17 * 32, 4 * 12 * 32
    assert record.iteration_bytes == (x + y, x + y, 2 * x + y, 2 * x + y, x + y, x + y)


@pytest.mark.parametrize(("grid", "most"), [("slabs", 10), ("pencils", 100)])
def test_no_rank_of_slabs_or_pencils_is_without_a_point(grid, most):
    asked = sized_problem("himeno", 12, grid=grid)
    assert asked.allows(most)
    assert not asked.allows(most + 1)
    assert sized_problem("himeno", 12, grid="pencils").allows(2 * 9)
    assert not sized_problem("himeno", 12, grid="pencils").allows(2 * 11)


def test_a_grid_that_is_not_there_is_refused(sized):
    with pytest.raises(KernelError, match="grid=cubes is none of slabs, pencils, boxes"):
        sized("himeno", 12, 2, grid="cubes")


# --- declared traffic ---


@pytest.mark.parametrize(
    ("size", "ranks", "grid"),
    [(3, 1, "boxes"), (17, 7, "boxes"), (33, 12, "boxes"), (33, 48, "boxes"), (20, 9, "slabs"), (20, 14, "pencils")],
)
def test_declared_traffic_is_that_of_the_kernel(sized, size, ranks, grid):
    record = sized("himeno", size, ranks, iterations=2, grid=grid)
    declared = traffic(sized_problem("himeno", size, grid=grid), ranks).totals(2)
    assert declared.flops.tolist() == list(record.rank_flops)
    assert declared.messages.tolist() == list(record.messages)
    assert declared.bytes.tolist() == list(record.bytes)
    calls, size_bytes = declared.collectives[Op.ALLREDUCE]
    assert {"calls": calls[0], "bytes": size_bytes.tolist()} == record.collectives["allreduce"]


@pytest.mark.parametrize(
    ("size", "ranks", "parameters"),
    [(2, 1, {}), (8, 7, {}), (12, 11, {"grid": "slabs"}), (12, 2, {"grid": "cubes"}), (12, 2, {"niter": 0})],
)
def test_the_declaration_refuses_in_the_kernels_words(sized, size, ranks, parameters):
    with pytest.raises(KernelError) as declared:
        traffic(sized_problem("himeno", size, **parameters), ranks)
    with pytest.raises(KernelError) as run:
        sized("himeno", size, ranks, iterations=1, **parameters)
    assert declared.value.problem in str(run.value)


# --- flops ---


@pytest.mark.parametrize(("size", "ranks"), [(3, 1), (32, 19), (33, 48), (256, 7), (256, 36), (1025, 27)])
def test_flops_are_34_for_each_point_where_it_is_owned(sized, size, ranks):
    record = sized("himeno", size, ranks, iterations=2)
    # 34 (imax - 2) (jmax - 2) (kmax - 2): the original's own count.
    assert record.flops == pytest.approx(2 * 34 * (size - 2) ** 3, rel=1e-12)
    assert record.rank_flops == tuple(2 * 34 * x * y * z for x, y, z in owned(size, ranks))
    assert min(record.rank_flops) > 0


def test_computation_takes_its_flops_over_the_sustained_speed(sized):
    record = sized("himeno", 66, 1, **RUN)
    assert record.time_s == pytest.approx(7 * 34 * 64**3 / (0.01 * 40e9), rel=1e-12)


# --- refusals ---


@pytest.mark.parametrize("mode", ["skeleton", "verify"])
@pytest.mark.parametrize(
    ("size", "ranks", "reason"),
    [
        (1, 1, "n is 1, not from 3"),
        (2, 1, "n is 2, not from 3"),
        (3, 2, "2 ranks cannot own"),
        (8, 7, "7 ranks cannot"),
    ],
)
def test_a_domain_without_a_point_for_every_rank_is_refused(sized, mode, size, ranks, reason):
    with pytest.raises(KernelError, match=reason):
        sized("himeno", size, ranks, mode=mode, niter=2)


def test_a_domain_whose_faces_cannot_be_counted_is_refused(sized):
    with pytest.raises(KernelError, match=r"size 46341: too large for himeno\. Give an integer from 1 to 46340"):
        sized("himeno", 46341, 2)


@pytest.mark.parametrize("size", [3, 5, 8, 12])
def test_the_rule_of_ranks_is_the_grid_of_ranks(size):
    asked = sized_problem("himeno", size)
    assert {ranks: asked.allows(ranks) for ranks in GRIDS} == {p: grid[0] <= size - 2 for p, grid in GRIDS.items()}


@pytest.mark.parametrize("ranks", range(1, 10))
def test_the_rule_of_ranks_is_the_kernels_own(sized, ranks):
    if sized_problem("himeno", 5).allows(ranks):
        assert sized("himeno", 5, ranks, niter=1).ranks == ranks
    else:
        with pytest.raises(KernelError, match=f"{ranks} ranks cannot own"):
            sized("himeno", 5, ranks, niter=1)


def test_too_little_memory_for_the_arithmetic_is_said(sized):
    # 46340^3 floats are 400 TB, more than one process can address.
    with pytest.raises(KernelError, match="no memory for the arithmetic"):
        sized("himeno", 46340, 2, mode="verify", niter=1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--size 2", "n is 2, not from 3"),
        ("--size 32 --param niter=0", "not positive"),
        ("--size 32 --param niter=half", "not an integer"),
        ("--size 32 --param omega=1", "Known: niter, grid"),
        ("--class A", "has no classes"),
    ],
)
def test_bad_input_gives_one_line(capsys, arguments, said):
    assert main(f"--app himeno {arguments} --scenario grid4x2".split()) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert said in error


def test_steady_iterations_are_those_of_the_full_run():
    platform = materialise(named_grid("grid4x2"))
    target = Target(sized_problem("himeno", 48), platform, block(platform, 8))
    steady, full = (simulate(RunSpec(target, efficiency=0.05, iterations=policy)) for policy in ("steady", "full"))
    assert steady.extrapolation.simulated < 20
    assert full.extrapolation is None
    assert steady.time_s == pytest.approx(full.time_s, rel=1e-9)
