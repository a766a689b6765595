"""The kernels, compared with the official NAS Parallel Benchmarks (data/README.md gives the sources of the figures)."""

import csv
import subprocess
from pathlib import Path

import pytest

from apps.errors import KernelError

DATA = Path(__file__).parents[1] / "data"
APPS = ("cg", "mg", "lu", "is", "ep", "ft", "bt", "sp")
TILED = ("bt", "sp")
WHOLE = ("mg", "ep", "ft")  # kernels with work outside their iterations, or without iterations
RANKS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 27, 36, 48)
# Numbers of ranks of quick runs; class W is the program of class S, and EP's ranks do not speak during the run.
QUICK_RANKS = {"S": (1, 2, 3, 8, 27, 48), "W": (8,)}
EP_RANKS = (1, 3, 48)
COMPARED_RANKS, COMPARED_EFFICIENCY = (4, 8, 27), 0.05  # of skeletons beside runs with arithmetic
# Full runs that take many seconds.  Other runs of the same program, on at least two numbers of ranks, test the same.
LONG = {("lu", "W", ranks) for ranks in range(1, 49) if ranks != 4} | {
    *(("cg", "W", ranks) for ranks in range(27, 49)),
    *(("cg", "S", ranks) for ranks in (36, 48)),
    *(("is", "W", ranks) for ranks in (36, 48)),
    *((app, "W", ranks) for app in TILED for ranks in range(1, 49)),
    *((app, "S", ranks) for app in TILED for ranks in (12, 16, 36)),
    *((app, "A", ranks) for app in TILED for ranks in (9, 16, 25)),
}
# 7x1, 9x3 and 8x6 ranks of LU leave some with fewer than 2 of the 12 points; so do 7x7x1, 9x9x3 and 12x12x4 tiles.
S_REFUSES = (7, 27, 48)


def cases(name, presets):
    with open(DATA / f"{name}.csv", newline="") as file:
        return [
            (row["bench"], row["class"], int(row["procs"])) for row in csv.DictReader(file) if row["class"] in presets
        ]


def runnable(presets, ranks):
    """Return all combinations except those that a kernel refuses, which another test checks."""
    return [
        (app, preset, p)
        for app in APPS
        for preset in presets
        for p in ranks
        if not (app in ("lu", *TILED) and preset == "S" and p in S_REFUSES)
    ]


def slow_if_long(cases):
    return [pytest.param(*case, marks=pytest.mark.slow if case in LONG else ()) for case in cases]


def repeated(app, preset, ranks):
    return ranks not in QUICK_RANKS.get(preset, (1, 5, 48)) or (app == "ep" and ranks not in EP_RANKS)


def slow_if_repeated(cases):
    return [pytest.param(*case, marks=pytest.mark.slow if case in LONG or repeated(*case) else ()) for case in cases]


def row_of(rows, app, preset, ranks=None):
    return next(
        row for row in rows if (row["bench"], row["class"]) == (app, preset) and ranks in (None, row.get("procs"))
    )


def least_iterations(app):
    """Return a number of iterations that exercises all of a kernel's code: all or one, depending on the kernel."""
    return None if app in WHOLE else 1


def compared(app, ranks):
    """Return the settings of a verifying run: those of the comparison with a skeleton where that runs all of it."""
    alike = app in ("is", "ep", "ft") and ranks in COMPARED_RANKS
    return {"compute": "injected", "efficiency": COMPARED_EFFICIENCY} if alike else {}


@pytest.mark.parametrize(("app", "preset", "ranks"), slow_if_repeated(runnable("SW", RANKS)))
def test_arithmetic_passes_the_official_verification(kernel, app, preset, ranks):
    assert kernel(app, preset, ranks, mode="verify", **compared(app, ranks)).verified is True


@pytest.mark.slow
@pytest.mark.parametrize(("app", "preset", "ranks"), [(app, "A", ranks) for app in APPS for ranks in (4, 9)])
def test_arithmetic_passes_the_official_verification_class_a(kernel, app, preset, ranks):
    assert kernel(app, preset, ranks, mode="verify").verified is True


def check_time(kernel, reference, app, preset, ranks, mode):
    published = row_of(reference("npb-comm-time"), app, preset, ranks)["time_s"]
    assert kernel(app, preset, ranks, mode=mode).time_s == pytest.approx(published, rel=5e-3)


@pytest.mark.parametrize(("app", "preset", "ranks"), slow_if_long(cases("npb-comm-time", "SW")))
def test_communication_takes_the_official_time(kernel, reference, app, preset, ranks):
    mode = "skeleton" if preset == "W" or repeated(app, preset, ranks) else "verify"  # the run of the verification
    check_time(kernel, reference, app, preset, ranks, mode)


@pytest.mark.parametrize(
    ("app", "preset", "ranks"),
    [
        pytest.param(*case, marks=pytest.mark.slow if case[0] == "lu" or case in LONG else ())
        for case in cases("npb-comm-time", "A")
    ],
)
def test_communication_takes_the_official_time_class_a(kernel, reference, app, preset, ranks):
    check_time(kernel, reference, app, preset, ranks, "skeleton")


@pytest.mark.parametrize(
    ("app", "preset", "ranks"),
    [
        pytest.param(*case, marks=pytest.mark.slow if case[1] == "W" else ())  # sizes between those of S and A
        for case in cases("npb-traffic", "SWA")
        if case[0] != "ep"
    ],
)  # EP has none: tests/apps/kernels/test_ep_ft.py
def test_one_iteration_sends_the_official_messages(kernel, reference, app, preset, ranks):
    record = kernel(app, preset, ranks, iterations=2)
    row = row_of(reference("npb-traffic"), app, preset, ranks)
    found = {
        "iter_p2p_msgs_rank_min": min(record.iteration_messages),
        "iter_p2p_msgs_rank_max": max(record.iteration_messages),
        "iter_p2p_msgs_total": sum(record.iteration_messages),
        "iter_p2p_bytes_rank_min": min(record.iteration_bytes),
        "iter_p2p_bytes_rank_max": max(record.iteration_bytes),
        "iter_p2p_bytes_total": sum(record.iteration_bytes),
        "iter_self_msgs_total": sum(record.iteration_self_messages),
        "iter_self_bytes_total": sum(record.iteration_self_bytes),
    }
    for kind in ("allreduce", "reduce", "bcast", "alltoall", "alltoallv"):
        used = record.iteration_collectives.get(kind, {"calls": 0, "bytes": [0]})
        assert len(set(used["bytes"])) == 1
        found[f"iter_{kind}_calls"] = used["calls"]
        found[f"iter_{kind}_bytes_rank"] = used["bytes"][0]
    assert found == {name: row[name] for name in found}


@pytest.mark.parametrize(("app", "preset", "ranks"), slow_if_repeated(runnable("SW", COMPARED_RANKS)))
def test_skeleton_and_verify_run_alike(kernel, app, preset, ranks):
    iterations = {"cg": 3, "lu": 5, "bt": 3, "sp": 3}.get(app)  # all iterations are alike
    runs = [
        kernel(app, preset, ranks, mode=mode, compute="injected", efficiency=COMPARED_EFFICIENCY, iterations=iterations)
        for mode in ("skeleton", "verify")
    ]
    assert runs[0].time_s == pytest.approx(runs[1].time_s, rel=1e-9)
    counts = ("messages", "bytes", "self_messages", "self_bytes", "iteration_messages", "collectives", "rank_flops")
    for field in counts:
        assert getattr(runs[0], field) == getattr(runs[1], field)


@pytest.mark.parametrize(
    ("app", "preset", "ranks"),
    [
        *runnable("SW", (5,)),
        *runnable("C", (48,)),  # those of the memory too
        *(pytest.param(*case, marks=pytest.mark.slow) for case in runnable("SB", (48,))),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in runnable("ABC", (5,))),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in runnable("WA", (48,))),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in runnable("SWA", (1, 16, 27))),
    ],
)
def test_flops_are_the_official_count(kernel, reference, app, preset, ranks):
    row = row_of(reference("npb-flops"), app, preset)
    iterations = least_iterations(app)
    official = 1e6 * row["mop_total"] / (1 if app in WHOLE else row["iterations"])
    assert kernel(app, preset, ranks, iterations=iterations).flops == pytest.approx(official, rel=1e-3)


@pytest.mark.parametrize("ranks", S_REFUSES)
@pytest.mark.parametrize("app", ["lu", *TILED])
def test_fewer_than_two_points_per_rank_or_tile_are_refused(kernel, app, ranks):
    with pytest.raises(KernelError, match="points"):
        kernel(app, "S", ranks)


@pytest.mark.parametrize(
    ("app", "preset", "ranks"),
    [*runnable("C", (48,)), *(pytest.param(*case, marks=pytest.mark.slow) for case in runnable("B", (48,)))],
)
def test_large_skeletons_on_48_ranks_stay_below_200_mb(kernel, app, preset, ranks):
    assert (
        kernel(app, preset, ranks, iterations=least_iterations(app)).peak_memory_bytes < 200e6
    )  # the run of the flops


def test_class_parameters_are_those_of_the_official_sources(reference):
    from apps.programs.kernel import named_kernel

    renamed = {"isiz01": "n", "nx": "n", "problem_size": "n"}
    unused = {"isiz02", "isiz03", "inorm", "ny", "nz", "lt", "c0", "c1", "c2", "c3", "pairs"}
    for row in reference("npb-classes"):
        ours = named_kernel(row["bench"]).classes[row["class"]]
        cells = ("parameters",) if row["bench"] == "ft" else ("parameters", "verification")  # FT: test_ep_ft.py
        pairs = (pair.split("=") for cell in cells for pair in row[cell].split(";"))
        for name, text in pairs:
            if (name in ours and "/" not in text) or name not in unused:
                assert ours[name if name in ours else renamed[name]] == float(text), (row["bench"], row["class"], name)


def sends_in_trace(record, folder):
    """Return point-to-point messages and bytes of the whole program by rank, from SMPI's time-independent trace."""
    folder.mkdir()
    (folder / "HOSTS").write_text("".join(f"{host}\n" for host in record.host))
    command = [record.command[0], "-trace-ti", "-trace-file", "trace", *record.command[1:]]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    sent = []
    for path in sorted((folder / "trace_files").iterdir(), key=lambda path: int(path.stem.rpartition("-")[2])):
        lines = [line.split() for line in path.read_text().splitlines()]
        sizes = [8 * int(words[4]) for words in lines if words[1] in ("send", "isend")]  # all items are doubles
        sent.append((len(sizes), sum(sizes)))
    return sent


@pytest.mark.parametrize(
    ("app", "preset", "ranks"), [("cg", "S", 5), ("cg", "S", 8), ("mg", "S", 6), ("lu", "S", 6), ("sp", "S", 6)]
)
def test_counts_are_those_of_the_simulators_own_trace(kernel, tmp_path, app, preset, ranks):
    two, three = (sends_in_trace(kernel(app, preset, ranks, iterations=k), tmp_path / str(k)) for k in (2, 3))
    record = kernel(app, preset, ranks, iterations=2)
    assert [b[0] - a[0] for a, b in zip(two, three, strict=True)] == list(record.iteration_messages)
    assert [b[1] - a[1] for a, b in zip(two, three, strict=True)] == list(record.iteration_bytes)
