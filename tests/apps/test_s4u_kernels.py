"""CG and EP in Python do what the C kernels do: the same messages, flops and simulated times."""

import json
import subprocess
from pathlib import Path

import pytest

from apps.catalog import Problem, app, problem
from apps.errors import KernelError
from apps.s4u import cg as s4u_cg
from apps.s4u import ep as s4u_ep
from apps.s4u.engine import run_iterations as run_s4u
from apps.s4u.layout import layout
from apps.smpi import run_identity
from apps.smpi import run_iterations as run_smpi
from apps.spec import Settings, Target
from platforms.compiling import compile_once
from platforms.placement import block
from platforms.read import read_platform

DATA = Path(__file__).parent / "data"
COUNTED = ("messages", "bytes", "self_messages", "self_bytes", "collectives")


def both(name, preset, ranks, *, compute="injected", iterations=1):
    """The records of the C kernel under SMPI and of the Python one under S4U."""
    platform = read_platform(DATA / "platform-grid-ref.xml")
    target = Target(problem(name, preset), platform, block(platform, ranks))
    smpi, s4u = (Settings(compute=compute, engine=one).spec(target) for one in ("smpi", "s4u"))
    return run_smpi(smpi, iterations), run_s4u(s4u, iterations, identity=run_identity(s4u))


def slow_unless(condition, *values):
    return pytest.param(*values, marks=[] if condition else pytest.mark.slow)


@pytest.mark.parametrize(
    ("name", "preset", "ranks", "compute"),
    [
        slow_unless(compute == "injected" or preset == "S", name, preset, ranks, compute)
        for name in ("cg", "ep")
        for preset in "SWA"
        for ranks in (4, 8, 9)
        for compute in ("injected", "none")
    ],
)
def test_messages_flops_and_times_are_those_of_the_c_kernel(name, preset, ranks, compute):
    smpi, s4u = both(name, preset, ranks, compute=compute, iterations=2 if name == "cg" and preset == "S" else 1)
    for field in COUNTED:
        assert getattr(s4u, field) == getattr(smpi, field)
        assert getattr(s4u, f"iteration_{field}") == getattr(smpi, f"iteration_{field}")
    assert s4u.rank_flops == pytest.approx(smpi.rank_flops, rel=1e-14)
    assert s4u.iteration_flops == pytest.approx(smpi.iteration_flops, rel=1e-12)
    # Required are 1 %; the simulator does the same in both, so that all digits are equal but for the rounding of sums.
    assert s4u.time_s == pytest.approx(smpi.time_s, rel=1e-9)
    assert s4u.compute_s == pytest.approx(smpi.compute_s, rel=1e-9)
    for one, other in zip(s4u.iteration_s, smpi.iteration_s, strict=True):
        assert one == pytest.approx(other, rel=1e-9)


@pytest.mark.parametrize("rows", [1400, 75000])
def test_every_rank_has_the_layout_of_the_c_kernel(rows):
    folder = app("cg").folder
    program = compile_once(
        "print_cg_layout",
        [DATA / "print_cg_layout.c", folder / "layout.c"],
        compiler=["gcc"],
        flags=["-O1", "-std=gnu11", f"-I{folder}"],
        libraries=["-lm"],
        headers=[folder / "layout.h"],
    )
    done = subprocess.run([program, str(rows), "49"], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 49 * 50 // 2
    for expected in map(json.loads, lines):
        made = layout(rows, expected["rank"], expected["nranks"])
        assert (made.groups, made.rows, made.columns) == tuple(expected[k] for k in ("groups", "rows", "columns"))
        for name in ("sum", "fetch", "scalar"):
            assert as_lists(getattr(made, name)) == expected[name], expected


def as_lists(plan):
    return [[[[part.rank, part.count] for part in parts] for parts in (one.receives, one.sends)] for one in plan]


def test_traffic_of_an_iteration_is_that_of_the_official_benchmark(reference):
    rows = reference("npb-traffic")
    row = next(row for row in rows if (row["bench"], row["class"], row["procs"]) == ("cg", "S", 8))
    _, s4u = both("cg", "S", 8)
    assert sum(s4u.iteration_messages) == row["iter_p2p_msgs_total"]
    assert sum(s4u.iteration_bytes) == row["iter_p2p_bytes_total"]


def test_too_many_ranks_are_refused_in_the_words_of_the_c_kernel():
    tiny = Problem("cg", tuple({**dict(problem("cg", "S").params), "na": 8, "nonzer": 1}.items()))
    platform = read_platform(DATA / "platform-grid-ref.xml")
    target = Target(tiny, platform, block(platform, 9))
    for run, engine in ((run_smpi, "smpi"), (lambda spec, n: run_s4u(spec, n, identity={}), "s4u")):
        with pytest.raises(KernelError, match="9 ranks need at least as many rows, na is 8"):
            run(Settings(engine=engine).spec(target), 1)


def test_problems_that_the_kernels_in_python_have_no_room_for_are_refused():
    # CG has at most a quarter of a row in each of nonzer vectors; EP draws batches of 2^16 pairs.
    assert s4u_cg.refusal({"na": 8, "nonzer": 1}, 9) == "9 ranks need at least as many rows, na is 8"
    assert s4u_cg.refusal({"na": 1400, "nonzer": 351}, 4) == "nonzer is 351, not between 1 and na / 4"
    assert s4u_ep.refusal({"m": 15}, 1) == "m is 15, not between 16 and 42"
    assert s4u_ep.refusal({"m": 24}, 256) is None
