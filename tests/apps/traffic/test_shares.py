"""Kernels whose data are divided among their ranks in unequal shares."""

from itertools import product

import numpy as np
import pytest

from apps.errors import KernelError
from apps.programs.problem import problem, sized_problem
from apps.runs.engines import run_identity, run_iterations
from apps.s4u.engine import run_iterations as run_s4u
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.traffic import cuts, traffic
from apps.traffic.shares import box_counts, counts_for
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

COUNTS = ("messages", "bytes", "self_messages", "self_bytes")
# Shares of the ranks: of different sizes in every group, plane and row, some of them small.
DRAWN = np.random.default_rng(7).uniform(0.3, 3, 64).round(3).tolist()


def platform_of(ranks):
    return materialise(named_grid("grid4x16" if ranks > 16 else "grid4x4", speeds_flops=[40e9] * 4))


def problem_of(app, preset):
    """The problem of a class; Himeno has a size instead, and its grid stands for the class."""
    return sized_problem("himeno", 20, grid=preset, niter=5) if app == "himeno" else problem(app, preset)


def target_of(app, preset, ranks):
    platform = platform_of(ranks)
    return Target(problem_of(app, preset).divided(DRAWN[:ranks]), platform, block(platform, ranks))


@pytest.mark.parametrize(
    ("app", "ranks"),
    [("cg", 2), ("cg", 7), ("cg", 8), ("cg", 12), ("mg", 4), ("mg", 7), ("mg", 18), ("lu", 4), ("lu", 6), ("lu", 15)],
)
def test_the_published_value_does_not_depend_on_the_shares(app, ranks):
    spec = Settings(compute="none").spec(target_of(app, "S", ranks), mode="verify")
    assert run_iterations(spec, spec.target.iterations).verified


# Sums of the same doubles in another order differ by about 1e-16; an error in the last place of one point would make
# 2^-24 of a sum of 1e3.
@pytest.mark.parametrize(("grid", "ranks"), [("slabs", 7), ("pencils", 6), ("boxes", 12), ("boxes", 18)])
def test_himeno_computes_the_same_pressure_in_any_shares(grid, ranks):
    target = target_of("himeno", grid, ranks)
    record, skeleton = (run_iterations(Settings().spec(target, mode=mode), 5) for mode in ("verify", "skeleton"))
    assert record.verified
    assert max(record.checks["p_sum_deviation"][0], record.checks["p_squares_deviation"][0]) < 1e-14
    assert record.time_s == pytest.approx(skeleton.time_s, rel=1e-12)


@pytest.mark.parametrize(
    ("app", "preset", "ranks"),
    [
        *(("cg", "S", 1), ("cg", "S", 8), ("cg", "S", 23), ("mg", "S", 16), ("mg", "S", 30)),
        *(("lu", "W", 2), ("lu", "W", 12), ("lu", "W", 24)),
        *(("himeno", "slabs", 9), ("himeno", "pencils", 15), ("himeno", "boxes", 24)),
    ],
)
def test_both_engines_do_what_is_declared(app, preset, ranks):
    target = target_of(app, preset, ranks)
    smpi, s4u = (Settings(engine=engine).spec(target) for engine in ("smpi", "s4u"))
    record, other = run_iterations(smpi, 2), run_s4u(s4u, 2, identity=run_identity(s4u))
    declared = traffic(target.problem, ranks).totals(2)
    for name in COUNTS:
        assert getattr(declared, name).tolist() == list(getattr(record, name)) == list(getattr(other, name))
    assert declared.flops == pytest.approx(record.rank_flops, rel=1e-12)
    assert (other.time_s, other.compute_s) == (record.time_s, record.compute_s)  # to the last bit


@pytest.mark.parametrize(("app", "preset"), [("cg", "A"), ("mg", "W"), ("lu", "W")])
def test_shares_by_cluster_are_met_and_nothing_is_lost(app, preset):
    # Four clusters of eight ranks: rows of LU's grid of 8 x 4, two planes of MG's of 2 x 4 x 4 each, CG's groups.
    asked = problem(app, preset).divided([1] * 8 + [2] * 8 + [3] * 8 + [4] * 8)
    even, own = (traffic(one, 32).totals(2).flops for one in (asked.evenly, asked))
    assert own.sum() == pytest.approx(even.sum(), rel=1e-12)
    # By hand: LU's 31 unknowns are 4 for the 8 places along x, and 4, 7, 9, 11 for the rows of ranks, of which the
    # first has 31 / 10; MG's 128 planes are 13, 26, 38, 51, of which each pair of ranks has half.
    excess = {"cg": 1.01, "mg": 14 / 12.8, "lu": (4 / 3.1) * (4 / 3.875)}[app]
    assert (own / own.sum() / asked.shares).max() <= excess


def test_himeno_by_hand():
    # Slabs: 10 inner planes in shares of 1, 2, 3, 4.  Boxes: 2 x 2 x 2 ranks, of which the four at the upper end of x
    # have three times the share of the others: 8 inner points are 2 + 6 along x, 4 + 4 along y and z.
    slabs = sized_problem("himeno", 12, grid="slabs").divided([1, 2, 3, 4])
    assert cuts(slabs, 4) == {"cuts_x": (0, 1, 3, 6, 10), "cuts_y": (0, 10), "cuts_z": (0, 10)}
    boxes = sized_problem("himeno", 10).divided([1] * 4 + [3] * 4)
    assert cuts(boxes, 8) == {"cuts_x": (0, 2, 8), "cuts_y": (0, 4, 8), "cuts_z": (0, 4, 8)}
    one = traffic(boxes, 8).totals(1)
    assert one.flops.tolist() == [34 * 2 * 4 * 4] * 4 + [34 * 6 * 4 * 4] * 4
    # A plane of floats across each axis, with one more point at each end of its two sides.
    assert one.bytes.tolist() == [4 * (6 * 6 + 4 * 6 + 4 * 6)] * 4 + [4 * (6 * 6 + 8 * 6 + 8 * 6)] * 4


def test_equal_shares_of_lu_are_even_in_unknowns():
    # 64 points on 4 ranks along x: the outer ones have a point of the boundary each, so 62 unknowns are 16, 15, 15, 16
    # of them when points are cut evenly, and the cut by unknowns has the same largest part.
    shares = cuts(problem("lu", "A").divided([1] * 16), 16)
    widths = np.diff(shares["cuts_x"])
    assert sorted(widths - np.array([1, 0, 0, 1])) == [15, 15, 16, 16]


def test_counts_are_the_best_of_all():
    drawn = np.random.default_rng(11)
    for _ in range(20):
        parts, items = int(drawn.integers(2, 5)), int(drawn.integers(6, 12))
        cost, least = drawn.uniform(0.2, 3, parts), drawn.integers(1, 3, parts)
        if least.sum() > items:
            continue
        found = counts_for(items, cost, least)
        ways = (way for way in product(range(1, items + 1), repeat=parts) if sum(way) == items)
        best = min(max(np.multiply(way, cost)) for way in ways if all(np.greater_equal(way, least)))
        assert found.sum() == items
        assert (found >= least).all()
        assert max(found * cost) == pytest.approx(best)


def test_a_product_of_shares_is_cut_exactly():
    shares = np.multiply.outer([0.25, 0.75], np.multiply.outer([0.5, 0.25, 0.25], [1.0]))
    counts = box_counts(shares, (8, 16, 5), (1, 1, 1))
    assert [count.tolist() for count in counts] == [[2, 6], [8, 4, 4], [5]]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (
            lambda: problem("ft", "S").divided([1, 2]),
            r"^shares of ft: it divides its data evenly only\. Use one of cg, ",
        ),
        (lambda: problem("lu", "S").divided([1, 0]), r"^shares of lu: not all are positive numbers\."),
        (lambda: problem("lu", "S").divided([1, float("nan")]), r"^shares of lu: not all are positive numbers\."),
        (lambda: problem("lu", "S").divided([1e308, 1e308]), r"^shares of lu: not all are positive numbers\."),
        (
            lambda: Settings().spec(
                Target(problem("cg", "S").divided([1, 2]), platform_of(4), block(platform_of(4), 3))
            ),
            r"^cg S in unequal shares: 2 shares for 3 ranks\. Give one for every rank",
        ),
    ],
)
def test_bad_shares_are_refused(make, reason):
    with pytest.raises(KernelError, match=reason):
        make()
