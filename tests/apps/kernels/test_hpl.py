"""HPL: LU factorisation with partial pivoting of a random system (netlib.org/benchmark/hpl)."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from apps.errors import KernelError
from apps.kernels.hpl import reference
from apps.programs.kernel import named_kernel
from apps.programs.problem import sized_problem
from apps.run import main
from apps.runs.engines import run_iterations
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from platforms.simgrid.compiling import compile_once

# N, ranks, rows of the grid, nb, broadcast: sizes that are not multiples of nb, more ranks than panels, various grids.
CASES = [
    (1, 3, 1, 64, "ring"),
    (130, 1, 1, 64, "ring"),
    (97, 16, 1, 10, "binomial"),
    (200, 5, 1, 16, "binomial"),
    (256, 6, 1, 128, "ring"),
    (200, 3, 3, 16, "ring"),
    (201, 6, 2, 7, "binomial"),
    (301, 7, 7, 32, "ring"),
    (257, 12, 3, 16, "ring"),
]
each_case = pytest.mark.parametrize(("size", "ranks", "grid_rows", "nb", "broadcast"), CASES)


def blocks(size, nb):
    """Return the first row and the number of rows of each panel."""
    return [(start, min(nb, size - start)) for start in range(0, size, nb)]


def owned(first, end, nb, place, places):
    """Return the number of rows or columns from first to end - 1 that a place owns, by counting."""
    return sum(i // nb % places == place for i in range(first, end))


def formula(size):
    return 2 / 3 * size**3 + 2 * size**2


# --- verification ---


@each_case
def test_the_solution_is_lapacks(sized, size, ranks, grid_rows, nb, broadcast):
    record = sized("hpl", size, ranks, mode="verify", grid_rows=grid_rows, nb=nb, broadcast=broadcast)
    assert record.verified is True
    residual, limit = record.checks["residual"]
    assert limit == 16  # HPL's own
    assert residual < 0.1  # backward stable: HPL's reports show some 1e-3 to 1e-2
    for name in ("x_largest_error", "x_mean_error"):
        error, limit = record.checks[name]
        assert error <= 1e-11
        assert limit < 1e-6  # the error that a residual of 16 allows


# HPL's broadcasts (netlib.org/benchmark/hpl/algorithm.html) on lines of 1, 3, 4, 5 and 7 places.
AHEAD = [
    ("ring", 1, 1, 16, 5),
    ("ring-modified", 1, 3, 12, 16),
    ("2-ring", 1, 1, 7, 16),
    ("2-ring-modified", 1, 2, 14, 7),
    ("long", 1, 4, 16, 16),
    ("long-modified", 1, 2, 10, 16),
    ("binomial", 1, 3, 3, 16),
    ("2-ring", 0, 2, 14, 16),
    ("2-ring-modified", 0, 1, 7, 10),
    ("ring-modified", 0, 2, 6, 16),
    ("long", 0, 1, 7, 16),
    ("long-modified", 0, 3, 12, 16),
]


@pytest.mark.parametrize(("broadcast", "depth", "grid_rows", "ranks", "nb"), AHEAD)
def test_every_broadcast_and_the_look_ahead_solve_the_system(sized, broadcast, depth, grid_rows, ranks, nb):
    how = {"grid_rows": grid_rows, "nb": nb, "broadcast": broadcast, "depth": depth}
    verified, skeleton = (sized("hpl", 129, ranks, mode=mode, **how) for mode in ("verify", "skeleton"))
    assert verified.verified is True
    assert verified.checks["x_largest_error"][0] <= 1e-11
    for field in ("messages", "bytes", "rank_flops"):
        assert getattr(skeleton, field) == getattr(verified, field)
    assert skeleton.time_s == pytest.approx(verified.time_s, rel=1e-9)


def test_another_depth_is_refused(sized):
    with pytest.raises(KernelError, match="depth is 2, not 0 or 1"):
        sized("hpl", 100, 2, depth=2)


@pytest.mark.parametrize(("broadcast", "sent_by_root"), [("ring", 1), ("ring-modified", 2), ("2-ring", 2), ("long", 9)])
def test_a_panel_leaves_its_root_as_the_broadcast_says(sized, broadcast, sent_by_root):
    # One panel on 7 places: by hand.  Long: 3 parts down the tree (of 4, 2 and 1 places), then 6 pieces around.
    record = sized("hpl", 64, 7, broadcast=broadcast)
    assert record.messages[0] == sent_by_root


def test_the_reference_is_the_solution_of_the_benchmarks_random_numbers():
    # Number k of the generator, NAS report RNR-94-007, 2.3: 5^(13 k) times the seed mod 2^46.
    size = 30
    matrix, right_hand_side = reference.system(size)
    for i, j in ((0, 0), (29, 0), (0, 1), (17, 23), (29, 29)):
        number = 314159265 * pow(5**13, j * size + i + 1, 2**46) % 2**46
        assert matrix[i, j] == number / 2**46 - 0.5
    assert right_hand_side[3] == 314159265 * pow(5**13, size * size + 4, 2**46) % 2**46 / 2**46 - 0.5
    x = np.linalg.solve(matrix, right_hand_side)
    found = reference.references({"n": size}, 1)
    assert found["x_sum"] == pytest.approx(x.sum(), rel=1e-10)
    assert found["x_largest"] == pytest.approx(abs(x).max(), rel=1e-10)
    bound = 2 * 16 * 2**-53 * size * np.linalg.cond(matrix, np.inf)
    assert found["x_limit"] == pytest.approx(bound, rel=0.7)  # LAPACK estimates the condition number


@pytest.mark.parametrize(("key", "factor"), [("x_sum", 1.001), ("x_largest", 1.001), ("x_limit", 1e-9)])
def test_a_wrong_reference_fails_the_verification(sized, monkeypatch, key, factor):
    right = reference.references

    def wrong(params, nranks):
        values = right(params, nranks)
        return {**values, key: values[key] * factor}

    monkeypatch.setattr(reference, "references", wrong)
    assert sized.__wrapped__("hpl", 100, 2, mode="verify").verified is False


@pytest.mark.parametrize(
    ("grid_rows", "file", "text", "error"),
    [
        (3, "solve.c", "s->block[i] /= u[i];", "s->block[i] /= u[i] * (1 + 1e-10);"),
        (3, "update.c", "place_replaced(s, step, &movement, replaced);", ""),  # some rows are lost
        (1, "panel.c", "(values[row]) > fabs", "(values[row]) < fabs"),  # the worst pivots
    ],
)
def test_the_residual_shows_an_error_in_the_arithmetic(sized, tmp_path, grid_rows, file, text, error):
    folder = named_kernel("hpl").folder
    shutil.copytree(folder.parents[1] / "common", tmp_path / "common")
    shutil.copytree(folder.parent / "harness", tmp_path / "kernels" / "harness")
    copy = tmp_path / "kernels" / "hpl"
    shutil.copytree(folder, copy)
    source = (copy / file).read_text()
    assert source.count(text) == 1
    (copy / file).write_text(source.replace(text, error))
    sources = [*copy.glob("*.c"), *(copy.parent / "harness").glob("*.c"), *(tmp_path / "common").glob("*.c")]
    faulty = compile_once(
        "faulty-hpl", sorted(sources), compiler=["smpicc"], flags=["-std=gnu11"], libraries=["-lm"],
        headers=sorted(tmp_path.rglob("*.h")),
    )  # fmt: skip

    record = sized("hpl", 200, 3, mode="verify", grid_rows=grid_rows, nb=16)
    (tmp_path / "HOSTS").write_text("".join(f"{host}\n" for host in record.host))
    right = next(word for word in record.command if Path(word).name.startswith("hpl"))
    command = [str(faulty) if word == right else word for word in record.command]
    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    said = done.stdout.splitlines()[-1]
    assert '"verified": false' in said
    residual = said.split('"residual": [')[1].split(",")[0]
    assert residual == "null" or float(residual) > 16


# --- the skeleton ---


@each_case
def test_a_skeleton_does_all_but_the_arithmetic(sized, size, ranks, grid_rows, nb, broadcast):
    how = {"compute": "injected", "efficiency": 0.01, "grid_rows": grid_rows, "nb": nb, "broadcast": broadcast}
    skeleton, verify = (sized("hpl", size, ranks, mode=mode, **how) for mode in ("skeleton", "verify"))
    assert skeleton.time_s == pytest.approx(verify.time_s, rel=1e-9)
    assert skeleton.compute_s == pytest.approx(verify.compute_s, rel=1e-9)
    for field in ("messages", "bytes", "self_messages", "self_bytes", "rank_flops", "collectives"):
        assert getattr(skeleton, field) == getattr(verify, field)
    assert skeleton.verified is None


def test_the_largest_skeleton_of_the_paper_is_small():
    platform = materialise(named_grid("grid1x40", speeds_flops=[1e9]))
    spec = RunSpec(Target(sized_problem("hpl", 9600), platform, block(platform, 40)))
    record = run_iterations(spec, 1)
    assert record.peak_memory_bytes < 100e6  # with its data 737 MB
    assert record.iteration_s == ((),) * 40  # there are no iterations


# --- messages ---


@pytest.mark.parametrize(("size", "ranks", "nb"), [(400, 4, 64), (640, 5, 64), (130, 7, 10), (1000, 20, 32)])
def test_every_panel_goes_round_the_ring_and_the_solution_back(sized, size, ranks, nb):
    record = sized("hpl", size, ranks, nb=nb)
    messages, numbers = [0] * ranks, [0] * ranks

    def send(rank, count):
        messages[rank] += 1
        numbers[rank] += count

    panels = blocks(size, nb)
    for k, (start, width) in enumerate(panels):  # pivots and the panel's rows; its owner's predecessor is the last
        for step in range(ranks - 1):
            send((k + step) % ranks, width * (1 + size - start))
    last = len(panels) - 1
    if size // nb % ranks != last % ranks:  # column N + 1 is not where back-substitution begins
        send(size // nb % ranks, size)
    for k in range(last, 0, -1):  # right-hand sides of the blocks before the next turn
        blocks_before = min(k, ranks - 1)
        send(k % ranks, blocks_before * nb)
    assert record.messages == tuple(messages)
    assert record.bytes == tuple(8 * count for count in numbers)
    assert record.collectives == {}


@pytest.mark.parametrize(
    ("size", "grid", "nb"), [(240, (2, 3), 16), (257, (4, 2), 32), (130, (3, 2), 16), (150, (7, 1), 32)]
)
def test_a_grid_exchanges_pivots_and_rows_in_its_columns(sized, size, grid, nb):
    rows, columns = grid
    record = sized("hpl", size, rows * columns, grid_rows=rows, nb=nb)
    power = 2 ** (rows.bit_length() - 1)
    pairs = power * (power.bit_length() - 1) + 2 * (rows - power)  # messages that merge the data of all grid rows
    panels = blocks(size, nb)
    messages = numbers = 0
    for start, width in panels:
        messages += width * pairs  # the candidates of every column
        numbers += width * pairs * (2 * width + 2)
        messages += rows * (columns - 1)  # the panel
        below = size - start - width
        numbers += (columns - 1) * width * (below + rows * (1 + width))  # the diagonal block to every row of the grid
        for place in range(columns):
            right = owned(start + width, size + 1, nb, place, columns)
            messages += pairs * (right > 0)
            numbers += pairs * 2 * width * right
    last = len(panels) - 1
    travelling = [(max(0, k - columns + 1) * nb, k * nb) for k in range(last, 0, -1) if columns > 1]
    if size // nb % columns != last % columns:
        travelling.append((0, size))
    for first, end in travelling:
        for place in range(rows):
            messages += (mine := owned(first, end, nb, place, rows)) > 0
            numbers += mine
    messages += (rows - 1) * len(panels)  # blocks of the solution
    numbers += (rows - 1) * size
    assert (sum(record.messages), sum(record.bytes)) == (messages, 8 * numbers)


@pytest.mark.parametrize("ranks", [4, 7, 12])
def test_a_binomial_broadcast_has_as_many_messages_and_takes_fewer_steps(ranks):
    # On equal nodes without computation, one panel only: by hand ranks - 1 steps and ceil(log2 ranks).
    platform = materialise(named_grid(f"grid1x{ranks}", speeds_flops=[1e9]))
    placement = block(platform, ranks)

    def run(broadcast):
        target = Target(sized_problem("hpl", 64, broadcast=broadcast), platform, placement)
        return run_iterations(RunSpec(target, compute="none"), 1)

    ring, binomial = run("ring"), run("binomial")
    # Column N + 1 begins a new block, which rank 1 owns and sends back to rank 0.
    assert ring.messages == (1, 2, *(1,) * (ranks - 3), 0)
    # Place i sends to i + 1, i + 2, i + 4, ... as far as its lowest bit, or the end, allows.
    sends = [sum(i + d < ranks for d in (1, 2, 4, 8) if i == 0 or d < (i & -i)) for i in range(ranks)]
    assert binomial.messages == tuple(count + (rank == 1) for rank, count in enumerate(sends))
    assert sum(binomial.bytes) == sum(ring.bytes)
    assert binomial.time_s < ring.time_s


# One-way times between two clusters of platform-grid-ref.xml, as in test_ep_ft.py: latency 1.2 ms, 125e6 byte/s, 16
# bytes more; SimGrid 3.32's factors of latency and bandwidth by size (shown by --help).
FACTORS = {0: (2.01467, 0.812084), 257: (1.95341, 0.338112), 732: (1.9503, 0.341987), 15424: (3.48845, 0.697866),
           65472: (11.6436, 0.940694)}  # fmt: skip


def one_way_s(size_bytes, factors_from):
    latency_factor, bandwidth_factor = FACTORS[factors_from]
    return 1.2e-3 * latency_factor + (size_bytes + 16) / (125e6 * bandwidth_factor)


def test_two_ranks_without_computation_take_the_time_of_their_messages(sized):
    # Two panels of 64 columns with their pivots, column N + 1 to where back-substitution begins, and its first block:
    # each waits for the one before.  Rank 0 leaves the barrier one small message earlier.
    by_hand_s = (
        one_way_s(8 * 64 * 129, 65472)
        + one_way_s(8 * 64 * 65, 15424)
        + one_way_s(8 * 128, 732)
        + one_way_s(8 * 64, 257)
        + one_way_s(0, 0)
    )
    assert sized("hpl", 128, 2).time_s == pytest.approx(by_hand_s, rel=1e-3)


# --- flops ---


@pytest.mark.parametrize(
    ("size", "ranks", "grid_rows", "nb"),
    [
        (1, 1, 1, 64),
        (2, 2, 1, 1),
        (400, 1, 1, 64),
        (1600, 7, 1, 64),
        (9600, 20, 1, 64),
        (999, 12, 4, 50),
        (500, 6, 3, 7),
    ],
)
def test_flops_are_the_published_formula(sized, size, ranks, grid_rows, nb):
    assert sized("hpl", size, ranks, grid_rows=grid_rows, nb=nb).flops == pytest.approx(formula(size), rel=1e-12)


@pytest.mark.parametrize(
    ("size", "grid", "nb"), [(40, (1, 3), 4), (33, (1, 5), 8), (30, (3, 2), 4), (29, (2, 2), 5), (20, (2, 3), 32)]
)
def test_every_operation_is_charged_to_the_owner_of_its_element(sized, size, grid, nb):
    rows, columns = grid
    operations = np.zeros(grid)

    def charge(i, j, count):
        operations[i // nb % rows, j // nb % columns] += count

    for k in range(size):
        charge(k, k, 1)  # x[k] is divided by the pivot
        for i in range(k + 1, size):
            charge(i, k, 1)  # and the elements below it
            for j in range(k + 1, size + 1):
                if i // nb == k // nb and (j // nb != k // nb or j == size):
                    operations[:, j // nb % columns] += 2 / rows  # the triangular solve, which all process rows repeat
                else:
                    charge(i, j, 2)
        for i in range(k):
            charge(i, k, 2)  # b[i] -= u[i, k] x[k]
    assert operations.sum() == pytest.approx(2 / 3 * size**3 + 3 / 2 * size**2 - 7 / 6 * size)  # HPL's, but for N
    record = sized("hpl", size, rows * columns, grid_rows=rows, nb=nb)
    expected = operations.flatten() * formula(size) / operations.sum()
    assert record.rank_flops == pytest.approx(expected, rel=1e-12)


def test_one_rank_takes_its_flops_over_the_sustained_speed(sized):
    record = run_on_one_node(1000)
    assert record.time_s == pytest.approx(formula(1000) / (0.25 * 1e9), rel=1e-9)
    assert sum(record.messages) == 0


@cache
def run_on_one_node(size):
    platform = materialise(named_grid("grid1x1", speeds_flops=[1e9]))
    return run_iterations(RunSpec(Target(sized_problem("hpl", size), platform, block(platform, 1)), efficiency=0.25), 1)


# --- refusals ---


@pytest.mark.parametrize(
    ("size", "ranks", "parameters", "reason"),
    [
        (100, 5, {"grid_rows": 2}, "5 ranks cannot make a grid of 2 rows"),
        (100, 4, {"grid_rows": -1}, "4 ranks cannot make a grid of -1 rows"),
        (100, 2, {"nb": 0}, "nb is 0, not positive"),
        (100, 2, {"broadcast": "tree"}, "broadcast=tree is none of ring, binomial"),
        (2**22, 2, {}, "size 4194304: too large for hpl. Give an integer from 1 to 4194303"),
        (4_000_000, 2, {"nb": 1000}, "panels of 1000 columns of 4000000 rows are too large"),
    ],
)
def test_what_cannot_be_run_is_refused_with_the_reason(sized, size, ranks, parameters, reason):
    with pytest.raises(KernelError, match=reason):
        sized("hpl", size, ranks, **parameters)


def test_a_matrix_that_does_not_fit_into_memory_is_refused(sized):
    with pytest.raises(KernelError, match=r"1.28e\+05 GB, does not fit into memory"):
        sized("hpl", 4_000_000, 2, mode="verify")


def test_grid_rows_0_are_the_columns_of_the_paper(sized):
    assert sized("hpl", 300, 4, grid_rows=0).bytes == sized("hpl", 300, 4).bytes


def test_the_command_line_takes_size_and_parameters(capsys):
    asked = "--app hpl --size 200 --param nb=32 --param grid_rows=2 --param broadcast=binomial --mode verify"
    assert main(f"{asked} --scenario grid4x2 --ranks 6".split()) == 0
    said = capsys.readouterr().out
    assert f"flops         {formula(200):.6g}\n" in said
    assert "verification  passed" in said
