"""Declared kernels on S4U do what the C kernels do under SMPI: the same events, flops and simulated times."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from apps.errors import KernelError
from apps.kernels.cg.traffic import Shape
from apps.programs.kernel import named_kernel
from apps.programs.problem import Problem, problem, sized_problem
from apps.recording.events import EVENT, Kind, Mark, Op
from apps.runs.engines import run_identity
from apps.runs.engines import run_iterations as run_smpi
from apps.runs.recorded_run import run_recorded
from apps.s4u.declared import Player
from apps.s4u.engine import run_iterations as run_s4u
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.traffic import declared_names, traffic
from apps.traffic.steps import Exchange, Traffic
from platforms.model.placement import block
from platforms.read.read import read_platform
from platforms.simgrid.compiling import compile_once

DATA = Path(__file__).parents[1] / "data"
COUNTED = ("messages", "bytes", "self_messages", "self_bytes", "collectives")
SIZES = {"S": 16, "W": 24, "A": 40}  # of Himeno, which has no classes


def problem_of(name, preset):
    """The problem of a class, or of a size instead."""
    return sized_problem(name, SIZES[preset], niter=3) if name == "himeno" else problem(name, preset)


def specs(asked, ranks, **settings):
    """The specs of a problem under SMPI and on S4U; with several ranks on a host if need be."""
    platform = read_platform(DATA / "platform-grid-ref.xml")
    hosts = block(platform, min(ranks, 48))
    target = Target(asked, platform, (hosts * 3)[:ranks])
    return [Settings(engine=one, **settings).spec(target) for one in ("smpi", "s4u")]


def both(name, preset, ranks, *, compute="injected", iterations=1):
    """The records of the C kernel under SMPI and of the declared one on S4U."""
    smpi, s4u = specs(problem_of(name, preset), ranks, compute=compute)
    return run_smpi(smpi, iterations), run_s4u(s4u, iterations, identity=run_identity(s4u))


QUICK = {("S", 9, "injected"), ("S", 4, "none"), ("A", 9, "injected")}


def slow_unless(condition, *values):
    return pytest.param(*values, marks=[] if condition else pytest.mark.slow)


@pytest.mark.parametrize(
    ("name", "preset", "ranks", "compute"),
    [
        slow_unless((preset, ranks, compute) in QUICK, name, preset, ranks, compute)
        for name in declared_names()
        for preset in "SWA"
        for ranks in (4, 8, 9)
        for compute in ("injected", "none")
    ],
)
def test_messages_flops_and_times_are_those_of_the_c_kernel(name, preset, ranks, compute):
    iterations = 2 if preset == "S" and problem_of(name, preset).iterative else 1
    smpi, s4u = both(name, preset, ranks, compute=compute, iterations=iterations)
    for field in COUNTED:
        assert getattr(s4u, field) == getattr(smpi, field)
        assert getattr(s4u, f"iteration_{field}") == getattr(smpi, f"iteration_{field}")
    for field in ("rank_flops", "iteration_flops"):  # to the last bit
        assert getattr(s4u, field) == getattr(smpi, field)
    for field in ("time_s", "compute_s", "comm_s", "iteration_s", "iteration_compute_s"):  # to the last bit
        assert getattr(s4u, field) == getattr(smpi, field)


# Without Himeno, whose C code waits for all messages of an axis in one call, at whose end all waits are recorded.
# Groups of unequal width and of several pieces; newcomers on the coarse levels; uneven blocks; several tiles in a
# layer; grids of more ranks than planes, whose all-to-alls go all at once, pairwise (blocks of 512 KiB on 4 ranks) and
# by Bruck's algorithm (blocks of 512 bytes among 64 ranks).
ODD = [
    *(("cg", "S", 1), ("cg", "S", 18), ("cg", "S", 23), ("ep", "S", 7), ("mg", "S", 1), ("mg", "S", 18)),
    *(("mg", "S", 30), ("lu", "S", 2), ("lu", "S", 15)),
    *(("ft", "S", 12), ("ft", "W", 4), ("ft", "W", 36), ("ft", "S", 128)),
    *(("bt", "S", 12), ("sp", "S", 6)),
]
LONG = [("cg", "S", 23), ("mg", "S", 30), ("ft", "W", 36), ("sp", "S", 6)]


@pytest.mark.parametrize(("name", "preset", "ranks"), [slow_unless(one not in LONG, *one) for one in ODD])
def test_every_event_is_that_of_the_c_kernel_and_happens_at_the_same_time(name, preset, ranks):
    iterations = 2 if problem_of(name, preset).iterative else 1
    smpi, s4u = (
        run_recorded(spec, iterations, what=name, time_limit_s=None) for spec in specs(problem_of(name, preset), ranks)
    )
    for rank in range(ranks):
        expected, found = timed(smpi.events[rank]), timed(s4u.events[rank])
        shown = len(smpi.counts[rank]) - len(s4u.counts[rank])  # colours of MPI_Comm_split, before all other counts
        expected["request"][(expected["kind"] == Kind.COLLECTIVE) & (expected["request"] >= 0)] -= shown
        for field in EVENT.names:
            if field == "comm":  # of which only the members mean anything
                assert members(s4u, found) == members(smpi, expected)
            elif field == "site":  # a kernel on S4U has no calls in a source
                assert not found["site"].any()
            elif field == "amount":
                is_compute = expected["kind"] == Kind.COMPUTE
                assert found["amount"][is_compute].tolist() == expected["amount"][is_compute].tolist()
            else:
                assert found[field].tolist() == expected[field].tolist(), (rank, field)
        assert s4u.counts[rank].tolist() == smpi.counts[rank].tolist()[shown:]


def timed(events):
    """The events of a rank up to the end of its timed section; C kernels check their results afterwards.

    Before it, MPI_Comm_split sends messages; communicators on S4U need none.
    """
    is_stop = (events["kind"] == Kind.MARK) & (events["op"] == Mark.STOP)
    until_stop = events[: np.flatnonzero(is_stop)[0] + 1]
    start = np.flatnonzero((until_stop["kind"] == Kind.MARK) & (until_stop["op"] == Mark.START))[0]
    makes = (until_stop["kind"] == Kind.COLLECTIVE) & np.isin(until_stop["op"], (Op.SPLIT, Op.CREATE))
    makes[start:] = False
    return until_stop[~makes]


def members(recording, events):
    """The ranks among which each event happens; None: it is not of several ranks."""
    return [None if comm < 0 else recording.communicators[comm] for comm in events["comm"].tolist()]


@pytest.fixture
def platform_with_watts(tmp_path):
    """Six hosts, each behind a link of its own; hosts and links take watts."""
    hosts = links = routes = ""
    for number in range(6):
        hosts += f'<host id="h{number}" speed="{number + 1}Gf"><prop id="wattage_per_state" value="1:2:9"/></host>'
        links += f'<link id="l{number}" bandwidth="{100 * (number + 1)}MBps" latency="{10 * (number + 1)}us">'
        links += '<prop id="wattage_range" value="1:3"/></link>'
        for other in range(number):
            way = f'<link_ctn id="l{other}"/><link_ctn id="l{number}"/>'
            routes += f'<route src="h{other}" dst="h{number}">{way}</route>'
    (tmp_path / "six.xml").write_text(
        '<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
        f'<platform version="4.1"><zone id="all" routing="Full">{hosts}{links}{routes}</zone></platform>'
    )
    return read_platform(tmp_path / "six.xml")


@pytest.mark.parametrize("name", declared_names())
def test_energy_is_that_of_the_c_kernel(platform_with_watts, name):
    smpi = Settings(efficiency="0.05").spec(
        Target(problem_of(name, "S"), platform_with_watts, tuple(f"h{n}" for n in range(6)))
    )
    iterations = 3 if smpi.target.problem.iterative else 1
    one, other = run_smpi(smpi, iterations), run_s4u(replace(smpi, engine="s4u"), iterations, identity={})
    assert other.energy_span_s == one.energy_span_s
    for field in ("energy_j", "link_energy_j"):
        assert len(getattr(one, field)) == 6
        assert getattr(other, field) == pytest.approx(getattr(one, field), rel=1e-12)
    expected, found = one.iteration_energy, other.iteration_energy
    for rank_expected, rank_found in zip(expected.host_j, found.host_j, strict=True):
        assert rank_found == pytest.approx(rank_expected, rel=1e-12)
    assert found.link_j.keys() == expected.link_j.keys()
    for link, joules in expected.link_j.items():
        assert found.link_j[link] == pytest.approx(joules, rel=1e-12)


class Noted:
    """A rank that notes what it is asked to do; a request is called after its partner."""

    def __init__(self, rank):
        self.rank, self.iterations, self.section, self.calls = rank, 1, SimpleNamespace(), []

    def irecv(self, source, tag):
        self.calls.append(("irecv", source, tag))
        return f"from {source}"

    def isend(self, dest, size_bytes, tag):
        self.calls.append(("isend", dest, size_bytes, tag))
        return f"to {dest}"

    def send(self, dest, size_bytes, tag):
        self.calls.append(("send", dest, size_bytes, tag))

    def compute(self, flops):
        self.calls.append(("compute", flops))

    def wait(self, request):
        self.calls.append(("wait", request))

    def start(self):
        self.calls.append("start")

    def stop(self):
        self.calls.append("stop")


@pytest.mark.parametrize("at_once", [False, True])
def test_an_exchange_posts_its_receives_sends_then_waits(monkeypatch, at_once):
    tag, posted = np.array([5, 6, 7, 8], np.int32), np.array([3, 2, 1, 0])
    messages = [(0, 1, 10), (0, 2, 20), (1, 0, 30), (2, 0, 40)]
    exchange = Exchange.of(messages, at_once=at_once, tag=tag, posted=posted)
    declared = Traffic(4, before=(), iteration=(), last=(exchange,), after=())
    monkeypatch.setattr("apps.s4u.declared.traffic", lambda problem, nranks: declared)
    player = Player(problem("ep", "S"), 4)
    first, last = Noted(0), Noted(3)
    player.main(first)
    player.main(last)
    name, waits = ("isend", ["from 2", "from 1", "to 1", "to 2"]) if at_once else ("send", ["from 2", "from 1"])
    sent = [(name, 1, 10, 5), (name, 2, 20, 6)]
    waited = [("wait", request) for request in waits]
    assert first.calls == ["start", ("irecv", 2, 8), ("irecv", 1, 7), *sent, *waited, "stop"]
    assert last.calls == ["start", "stop"]


@pytest.mark.parametrize("at_once", [False, True])
def test_a_rank_computes_after_its_sends_and_before_it_waits(monkeypatch, at_once):
    exchange = replace(Exchange.of([(0, 1, 10), (1, 0, 20)], at_once=at_once), meanwhile=np.array([5.0, 0.0]))
    declared = Traffic(2, before=(), iteration=(), last=(exchange,), after=())
    assert declared.totals(1).flops.tolist() == [5, 0]
    monkeypatch.setattr("apps.s4u.declared.traffic", lambda problem, nranks: declared)
    player, ranks = Player(problem("ep", "S"), 2), (Noted(0), Noted(1))
    for rank in ranks:
        player.main(rank)
    name, waits = ("isend", [("wait", "to 1")]) if at_once else ("send", [])
    assert ranks[0].calls[2:-1] == [(name, 1, 10, 0), ("compute", 5.0), ("wait", "from 1"), *waits]
    assert [call[0] for call in ranks[1].calls[1:3]] == ["irecv", name]


@pytest.mark.parametrize("rows", [1400, 75000])
def test_every_rank_has_the_layout_of_the_c_kernel(rows):
    folder = named_kernel("cg").folder
    program = compile_once(
        "print_cg_layout",
        [DATA / "print_cg_layout.c", folder / "layout.c"],
        compiler=["gcc"],
        flags=["-O1", "-std=gnu11", f"-I{folder}"],
        libraries=["-lm"],
        headers=[folder / "layout.h"],
    )
    done = subprocess.run([program, str(rows), "49"], capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == 49 * 50 // 2
    asked = Problem("cg", tuple({**dict(problem("cg", "S").params), "na": rows}.items()))
    for nranks in range(1, 50):
        ranks = [line for line in lines if line["nranks"] == nranks]
        shape, declared = Shape(rows, nranks), plans(asked, nranks)
        assert [line["groups"] for line in ranks] == [shape.groups] * nranks
        assert [line["rows"] for line in ranks] == [shape.rows(int(group)) for group in shape.group_of]
        assert [line["columns"] for line in ranks] == shape.columns.tolist()
        for name, found in declared.items():
            assert found == [[phase for phase in line[name] if phase != [[], []]] for line in ranks], (nranks, name)


def plans(asked, nranks):
    """Return each rank's messages by phase: [[[source, elements], ...], [[destination, elements], ...]].

    A plan for scalars is taken from the sum of one number; the C program prints 0 elements for it.
    """
    steps = dict.fromkeys(step for step in traffic(asked, nranks).iteration if isinstance(step, Exchange))
    found = {name: [[] for _ in range(nranks)] for name in ("sum", "fetch", "scalar")}
    for step in steps:
        name = tuple(found)[step.tag]  # apps/kernels/cg/cg.c numbers its tags in this order
        if name == "scalar" and step.size_bytes[0] != 8:
            continue
        phases = [[[], []] for _ in range(nranks)]
        for source, destination, size_bytes in zip(step.source, step.destination, step.size_bytes, strict=True):
            elements = 0 if name == "scalar" else int(size_bytes) // 8
            phases[destination][0].append([int(source), elements])
            phases[source][1].append([int(destination), elements])
        for plan, phase in zip(found[name], phases, strict=True):
            plan += [phase] if phase != [[], []] else []
    return found


def test_traffic_of_an_iteration_is_that_of_the_official_benchmark(reference):
    rows = reference("npb-traffic")
    row = next(row for row in rows if (row["bench"], row["class"], row["procs"]) == ("cg", "S", 8))
    _, s4u = both("cg", "S", 8)
    assert sum(s4u.iteration_messages) == row["iter_p2p_msgs_total"]
    assert sum(s4u.iteration_bytes) == row["iter_p2p_bytes_total"]


@pytest.mark.parametrize(
    ("name", "changed", "ranks", "refusal"),
    [
        ("cg", {"na": 8, "nonzer": 1}, 9, "9 ranks need at least as many rows, na is 8"),
        ("cg", {"nonzer": 351}, 4, "nonzer is 351, not between 1 and na / 4"),
        ("ep", {"m": 15}, 1, "m is 15, not between 16 and 42"),
        ("ep", {"m": 18}, 5, "5 ranks, but there are only 4 batches of pairs"),
        ("mg", {"n": 24}, 1, "n is 24, not a power of two from 4 to 4096"),
        ("mg", {"n": 4}, 5, "5 ranks cannot have a point each along every axis, n is 4"),
        ("mg", {"nit": 0}, 1, "nit is 0, not positive"),
        ("lu", {"n": 5}, 1, "n is 5, not between 6 and 10000"),
        ("lu", {}, 7, "7 ranks would form a grid of 7 x 1, which needs at least 14 points per direction, n is 12"),
        ("lu", {"omega": 2.0}, 1, "dt is not positive, or omega is not between 0 and 2"),
        ("ft", {"niter": 26}, 1, "niter is 26, not between 1 and 25"),
        ("ft", {"ny": 24}, 1, "64 x 24 x 64 points, not powers of two from 2 to 16384"),
        (
            *("ft", {"nx": 4, "ny": 4, "nz": 2}, 5),
            "5 ranks cannot share 4 x 4 x 2 points: more than 2 must be a product of a number up to 4 and one up to 2",
        ),
    ],
)
def test_what_a_kernel_refuses_is_refused_in_its_own_words(name, changed, ranks, refusal):
    asked = Problem(name, tuple({**dict(problem(name, "S").params), **changed}.items()))
    said = []
    for run, spec in zip((run_smpi, lambda spec, n: run_s4u(spec, n, identity={})), specs(asked, ranks), strict=True):
        with pytest.raises(KernelError) as error:
            run(spec, 1)
        said.append(str(error.value))
    where = f"{asked} on {ranks} rank{'s' if ranks > 1 else ''}"
    assert said == [f"{where}: {refusal}. Choose other ranks, or another class or size."] * 2
