"""Finite elements: solution, method and cost, recomputed with numpy and scipy."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from apps.errors import KernelError, OptionError
from apps.kernels.fem import reference
from apps.programs.kernel import named_kernel
from apps.programs.problem import read_table, sized_problem
from apps.run import main
from apps.runs.simulate import simulate
from apps.spec.run_spec import RunSpec
from apps.spec.settings import Settings
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

CASES = [  # N, ranks, layers: odd numbers of ranks, one plane per rank, cubes
    (1, 1, 1),
    (6, 3, 1),
    (9, 9, 1),
    (10, 5, 2),
    (8, 2, 8),
    (7, 7, 3),
]


def target(n, ranks, **parameters):
    platform = materialise(named_grid(f"grid1x{ranks}", speeds_flops=[1e9]))
    return Target(sized_problem("fem", n, **parameters), platform, block(platform, ranks))


# --- reference values ---


def test_the_element_resists_no_rigid_motion_and_has_the_stiffness_of_hand_calculation():
    young, poisson = 2.0, 0.3
    K = reference.element_stiffness(young, poisson)
    at = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    turns = [np.cross(axis, at) for axis in np.eye(3)]
    shifts = [np.tile(axis, (8, 1)) for axis in np.eye(3)]
    for motion in (*turns, *shifts):
        assert K @ motion.ravel() == pytest.approx(np.zeros(24), abs=1e-14)
    assert np.linalg.matrix_rank(K) == 24 - 6
    # By hand: the integral of each squared derivative of a shape function is 1 * 1/3 * 1/3.
    lame, shear = young * poisson / ((1 + poisson) * (1 - 2 * poisson)), young / (2 * (1 + poisson))
    assert np.diag(K) == pytest.approx((lame + 2 * shear + 2 * shear) / 9, rel=1e-14)


@pytest.mark.parametrize(("n", "layers", "young", "poisson"), [(1, 1, 1, 0.3), (9, 1, 2.5, 0.3), (4, 6, 1, -0.2)])
def test_the_sparse_solution_is_uniaxial_stress(n, layers, young, poisson):
    u = reference.sparse_solution(n, layers, young, poisson)
    x, y, z = np.indices((n + 1, n + 1, layers + 1)).reshape(3, -1)
    # By hand (Hooke): stress 1 along z stretches by 1 / young along z and by -poisson / young across.
    assert u == pytest.approx(np.stack([-poisson * x, -poisson * y, z], axis=1) / young, abs=1e-12)
    params = {"n": n, "layers": layers, "young": young, "poisson": poisson}
    assert reference.references(params, 1) == pytest.approx(reference.closed_form(n, layers, young, poisson), rel=1e-11)


# --- arithmetic ---


@pytest.mark.parametrize(("n", "ranks", "layers"), CASES)
def test_the_solution_is_that_of_scipys_sparse_solver(sized, n, ranks, layers):
    record = sized("fem", n, ranks, mode="verify", compute="injected", layers=layers)
    assert 3 * (n + 1) ** 2 * (layers + 1) <= reference.MOST_UNKNOWNS
    assert record.verified is True
    assert record.checks["residual"][0] <= 1e-8
    assert len(record.iteration_s[0]) == record.checks["iterations"][0]
    assert max(record.checks[f"error_u{axis}"][0] for axis in "xyz") < 1e-7


@pytest.mark.parametrize("parameters", [{}, {"poisson": 0.0}, {"poisson": 0.4, "young": 2e5}, {"tolerance": 1e-11}])
def test_larger_problems_are_compared_with_the_closed_form(sized, parameters):
    assert reference.MOST_UNKNOWNS < 3 * 61**2 * 2
    assert sized("fem", 60, 4, mode="verify", **parameters).verified is True


@pytest.mark.parametrize("name", reference.NAMES)
def test_a_wrong_reference_fails_the_verification(monkeypatch, name):
    right = reference.references

    def wrong(params, nranks):
        values = right(params, nranks)
        return {**values, name: values[name] * (1 + 1e-4)}

    monkeypatch.setattr(reference, "references", wrong)
    record = simulate(RunSpec(target(6, 2), mode="verify"))
    assert record.verified is False
    assert record.checks["residual"][0] <= 1e-8


def test_a_solution_that_has_not_converged_fails_the_verification(sized):
    needed = sized("fem", 10, 5, mode="verify", compute="injected", layers=2).checks["iterations"][0]
    assert sized("fem", 10, 5, mode="verify", layers=2, niter=needed).verified is True
    assert sized("fem", 10, 5, mode="verify", layers=2, niter=needed - 1).verified is False


def test_a_run_that_comes_to_the_limit_fails_the_verification(monkeypatch):
    monkeypatch.setattr("apps.spec.run_spec.MOST_ITERATIONS", 10)
    record = simulate(RunSpec(target(6, 3), mode="verify"))
    assert record.verified is False
    assert record.checks["iterations"] == [10, 10]


def test_more_iterations_than_needed_do_no_harm(sized):
    record = sized("fem", 6, 3, mode="verify", niter=300)
    assert record.verified is True
    assert len(record.iteration_s[0]) == 300


def incomplete_inverse(A, count):
    """Return x -> M^-1 x for the block factors of A without fill-in, for count nodes, by elimination node by node."""
    blocks = {(i, j): A[3 * i : 3 * i + 3, 3 * j : 3 * j + 3].copy() for i in range(count) for j in range(count)}
    there = {key for key, value in blocks.items() if abs(value).max() > 0 or key[0] == key[1]}
    for k in range(count):
        later = [i for i in range(k + 1, count) if (i, k) in there]
        for i in later:
            left = blocks[i, k] @ np.linalg.inv(blocks[k, k])
            for j in later:
                if (i, j) in there:
                    blocks[i, j] -= left @ blocks[k, j]
    lower, diagonal = np.zeros_like(A), np.zeros_like(A)
    for i, j in there:
        place = np.s_[3 * i : 3 * i + 3, 3 * j : 3 * j + 3]
        if i >= j:
            lower[place] = blocks[i, j]
        if i == j:
            diagonal[place] = blocks[i, j]
    return np.linalg.inv(lower @ np.linalg.inv(diagonal) @ lower.T)


def iterations_and_residual(n, ranks, layers, tolerance):
    """Preconditioned conjugate gradients (Saad, Iterative methods for sparse linear systems, algorithm 9.1), dense."""
    K, b, free = reference.system(n, layers, 1.0, 0.3)
    A = np.where(np.outer(free, free), K.toarray(), np.diag(1.0 - free))
    plane = (n + 1) * (layers + 1)
    bounds = np.array([0, *(n // ranks * (r + 1) + 1 for r in range(ranks))]) * plane
    M = np.zeros_like(A)
    for start, end in itertools.pairwise(bounds):
        own = np.s_[3 * start : 3 * end, 3 * start : 3 * end]
        M[own] = incomplete_inverse(A[own], end - start)
    x, r = np.zeros_like(b), b.copy()
    z = M @ r
    p, rho = z.copy(), r @ z
    for iteration in range(1, 1000):
        q = A @ p
        step = rho / (p @ q)
        x += step * p
        r -= step * q
        if np.linalg.norm(r) <= tolerance * np.linalg.norm(b):
            return iteration, np.linalg.norm(r) / np.linalg.norm(b)
        z = M @ r
        rho, before = r @ z, rho
        p = z + rho / before * p
    raise AssertionError("no convergence")


@pytest.mark.parametrize(("n", "ranks", "layers"), [(4, 1, 1), (6, 3, 1), (4, 2, 3)])
def test_the_method_takes_as_many_iterations_as_a_dense_computation_of_it(sized, n, ranks, layers):
    checks = sized("fem", n, ranks, mode="verify", compute="injected", layers=layers).checks
    iterations, residual = iterations_and_residual(n, ranks, layers, 1e-8)
    assert checks["iterations"][0] == iterations
    assert checks["residual"][0] == pytest.approx(residual, rel=1e-3)


# --- cost ---


@pytest.mark.parametrize(("n", "ranks", "layers"), CASES)
def test_a_skeleton_costs_what_arithmetic_does(sized, n, ranks, layers):
    full = sized("fem", n, ranks, mode="verify", compute="injected", layers=layers)
    niter = full.checks["iterations"][0]
    skeleton = sized("fem", n, ranks, compute="injected", layers=layers, niter=niter)
    assert skeleton.time_s == pytest.approx(full.time_s, rel=1e-9)
    for name in ("messages", "bytes", "rank_flops", "collectives", "iteration_messages", "iteration_bytes"):
        assert getattr(skeleton, name) == getattr(full, name)
    assert skeleton.verified is None


def test_messages_are_the_planes_between_neighbours(sized):
    record = sized("fem", 12, 4, layers=2, niter=5)
    # By hand: a plane of 13 x 3 nodes, three numbers of 8 bytes each, to each neighbour.
    plane = 13 * 3 * 3 * 8
    assert record.iteration_messages == (1, 2, 2, 1)
    assert record.iteration_bytes == (plane, 2 * plane, 2 * plane, plane)
    assert record.messages == (5, 10, 10, 5)
    # The method's three inner products; before the iterations the norm of the load.
    assert record.iteration_collectives == {"allreduce": {"calls": 3, "bytes": [3 * 8] * 4}}
    assert record.collectives["allreduce"]["calls"] == 3 * 5 + 1


@pytest.mark.parametrize(("n", "ranks", "layers"), [(12, 4, 1), (6, 3, 6), (5, 5, 2)])
def test_flops_are_two_per_number_that_takes_part(sized, n, ranks, layers):
    record = sized("fem", n, ranks, layers=layers, niter=3)
    K, load, _ = reference.system(n, layers, 1.0, 0.3)
    plane = (n + 1) * (layers + 1)
    node = np.arange(load.size) // 3
    owner = np.maximum((node // plane - 1) // (n // ranks), 0)
    pattern = csr_array(K).tocoo()
    entries = np.bincount(owner[pattern.row], minlength=ranks)  # with the blocks of held displacements
    own = np.bincount(owner[pattern.row[owner[pattern.row] == owner[pattern.col]]], minlength=ranks)
    unknowns = np.bincount(owner, minlength=ranks)
    # A product with the matrix, one with the factors of the own part, 3 inner products and 3 updates of vectors.
    assert record.iteration_flops == pytest.approx(2 * (entries + own + 6 * unknowns), rel=1e-12)
    assert record.rank_flops == pytest.approx(3 * np.array(record.iteration_flops) + 2 * unknowns, rel=1e-12)


def test_the_largest_flat_domain_of_the_paper_takes_little_memory():
    record = simulate(Settings(iterations="steady").spec(target(660, 20, niter=1500)))
    assert record.peak_memory_bytes < 100e6
    assert record.extrapolation.iterations == 1500
    assert record.extrapolation.simulated <= 10


# --- numbers of iterations ---


@pytest.mark.parametrize(("n", "ranks", "layers"), [(72, 4, 1), (12, 6, 12)])
def test_a_skeleton_takes_as_many_iterations_as_arithmetic_did(sized, n, ranks, layers):
    needed = sized("fem", n, ranks, mode="verify", layers=layers).checks["iterations"][0]
    assert target(n, ranks, layers=layers).iterations == needed
    assert len(sized("fem", n, ranks, layers=layers).iteration_s[0]) == needed
    assert target(n, ranks, layers=layers, niter=7).iterations == 7


def test_the_table_is_sorted_and_holds_every_number_of_ranks_that_divides_a_size():
    columns, rows = read_table(named_kernel("fem").folder / "iterations.csv")
    assert columns == ("n", "layers", "ranks")
    assert list(rows) == sorted(rows)
    for n in (72, 84, 96, 120):
        assert [key[2] for key in rows if key[:2] == (n, 1)] == [p for p in range(1, 21) if n % p == 0]
    # More ranks have weaker factors.
    assert rows[72, 1, 1] < rows[72, 1, 4] < rows[72, 1, 18]


@pytest.mark.parametrize("parameters", [{"layers": 5}, {"tolerance": 1e-6}, {"poisson": 0.2}])
def test_a_problem_that_the_table_does_not_have_is_refused(parameters):
    with pytest.raises(KernelError, match=r"no run with arithmetic .* Give the number: --param niter=K"):
        RunSpec(target(72, 4, **parameters), iterations=5)


def test_ranks_that_the_rule_excludes_are_not_looked_up():
    with pytest.raises(KernelError, match="fem 72 on 5 ranks: N must be a multiple of the number of ranks"):
        assert target(72, 5).iterations
    with pytest.raises(KernelError, match=r"fem 72 layers=5 on 1 rank: no run with arithmetic"):
        assert target(72, 1, layers=5).iterations


@pytest.mark.parametrize("iterations", [5, "steady"])
def test_arithmetic_until_convergence_is_not_cut_short(iterations):
    with pytest.raises(OptionError, match="stops by itself when it has converged"):
        RunSpec(target(72, 4), mode="verify", iterations=iterations)


# --- refusals ---


@pytest.mark.parametrize(
    ("ranks", "parameters", "complaint"),
    [
        (4, {"n": 10}, "n is 10, not a multiple of the number of ranks, 4"),
        (4, {"n": 2}, "n is 2, not a multiple of the number of ranks, 4"),
        (2, {"layers": 0}, "layers is 0, not positive"),
        (2, {"young": 0.0}, "young is 0, not positive"),
        (2, {"poisson": 0.5}, "poisson is 0.5, not between -1 and 0.5"),
        (2, {"tolerance": 0.0}, "tolerance is 0, not between 0 and 1"),
        (2, {"n": 200_000, "layers": 200_000}, "200000 x 200000 x 200000 elements are too many for 2 ranks"),
    ],
)
@pytest.mark.parametrize("mode", ["skeleton", "verify"])
def test_what_cannot_be_is_refused(sized, mode, ranks, parameters, complaint):
    given = {"n": 8, "niter": 5, **parameters}
    with pytest.raises(KernelError, match=complaint):
        sized("fem", given.pop("n"), ranks, mode=mode, **given)


def test_factors_that_break_down_are_refused(sized):
    with pytest.raises(KernelError, match=r"the incomplete factorisation breaks down: \d+ blocks"):
        sized("fem", 60, 4, mode="verify", poisson=0.45)


def test_the_command_line_says_in_one_line_what_is_wrong(capsys):
    assert main("--app fem --size 10 --ranks 4 --mode verify --scenario grid4x2".split()) == 2
    assert capsys.readouterr().err.count("\n") == 1
