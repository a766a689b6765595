"""The language of applications against simulation: the same description with one rank per process."""

from pathlib import Path

import pytest

from apps.runs.runner import Runner
from platforms.system.convert import system_named
from predictor.blocks.description import read_application
from predictor.blocks.setting import Setting
from validation.blocks.comparison import compare

CLUSTER = Path(__file__).parents[3] / "examples" / "blocks" / "cluster.toml"

COLLECTIVES = """
[labels.p]
count = 6
program = [
    { compute = "1e8 * (1 + index % 3)" },
    { allreduce = 1000 },
    { reduce = 3000, at = 1 },
    { allgather = "5000 * p" },
    { allreduce = 70000, split = "index % 2" },
    { broadcast = 1000, split = "index // 2", at = 1 },
    { barrier = true, split = "index % 2" },
]
"""
# Each process sends and receives its halo while it computes the inner points.
OVERLAP = """
[variables]
n = 1500
nx = "part(n, 3, coordinate(0))"
ny = "part(n, 2, coordinate(1))"
[steps.begin]
parameters = ["there", "size"]
do = [
    { receive_from = "p", at = "there", request = "halo" },
    { send_to = "p", at = "there", bytes = "size", request = "halo" },
]
[labels.p]
grid = [3, 2]
periodic = [false, true]
efficiency = 0.5
program = [{ repeat = 10, do = [
    { call = "begin", there = "neighbour(-1, 0)", size = "80 * ny" },
    { call = "begin", there = "neighbour(1, 0)", size = "80 * ny" },
    { receive_from = "p", at = "neighbour(0, -1)", request = "columns" },
    { send_to = "p", at = "neighbour(0, 1)", bytes = "8 * nx", buffered = true },
    { compute = "6 * (nx - 2) * (ny - 2)" },
    { wait = ["halo", "columns"] },
    { compute = "12 * (nx + ny - 2)" },
] }]
"""
# A request that is waited for in the next turn, so that turns cannot be evaluated one without the other.
PIPELINE = """
[labels.p]
count = 4
program = [
    { receive_from = "p", at = "(index - 1) % 4", request = "r" },
    { repeat = 9, do = [
        { send_to = "p", at = "(index + 1) % 4", bytes = 100000, request = "s" },
        { compute = "1e6 * (1 + index)" },
        { wait = ["r", "s"] },
        { receive_from = "p", at = "(index - 1) % 4", request = "r" },
    ] },
    { send_to = "p", at = "(index + 1) % 4", bytes = 100000, buffered = true },
    { wait = true },
]
"""
FIRST_COME = """
[variables]
seed = 3
[labels.master]
count = 1
program = [{ repeat = "slave * 4", do = [{ receive_from_any = "slave" }, { compute = 1e7 }, { reply = 8000 }] }]
[labels.slave]
count = 5
program = [{ repeat = 4, as = "k", do = [
    { compute = "1e8 * exponential(index, k)" },
    { send_to = "master", bytes = 100000 },
    { receive_from = "master" },
] }]
"""
# All workers ask at the start, so that the order of the ranks decides; the gather needs a communicator of its own.
MASTERS = """
[labels.p]
count = 9
program = [
    { if = "index < 2", then = [{ repeat = "12 if index == 0 else 9", do = [
        { receive_from_any = "p" }, { compute = 1e5 }, { reply = 30000 },
    ] }], else = [{ repeat = 3, as = "k", do = [
        { send_to = "p", at = "index % 2", bytes = 300 },
        { receive_from = "p", at = "index % 2" },
        { compute = "2e7 * (1 + 0.37 * index + 0.11 * k)" },
    ] }] },
    { gather = 9000, root = "p" },
]
"""

# Each process sweeps until its own residual is small, with a message to the next one after each sweep of the shorter.
RESIDUALS = """
[labels.p]
count = 4
program = [
    { set = "residual = 1" },
    { set = "sent = 0" },
    { while = "residual > 1e-3", do = [
        { compute = "3e7 * (1 + residual)" },
        { set = "residual *= 0.1 + 0.2 * index" },
        { if = "sent < 3", then = [
            { set = "sent += 1" },
            { send_to = "p", at = "(index + 1) % p", bytes = "100000 * sent", buffered = true },
            { receive_from = "p", at = "(index - 1) % p" },
        ] },
    ] },
    { barrier = true },
]
"""
SELF_SCHEDULING = (CLUSTER.parent / "self-scheduling.toml").read_text()


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    with Runner(jobs=1) as made:
        yield made


@pytest.mark.parametrize("text", [COLLECTIVES, OVERLAP, PIPELINE, FIRST_COME, MASTERS, RESIDUALS, SELF_SCHEDULING])
def test_times_and_energies_are_those_of_the_simulation(tmp_path, runner, text):
    path = tmp_path / "app.toml"
    path.write_text(text)
    setting = Setting(read_application(path), system_named(str(CLUSTER)))
    found = compare(setting, lambda one: one.machine("simgrid"), runner)
    assert found.evaluated_s == pytest.approx(found.simulated_s, rel=1e-4)
    assert found.evaluated_j == pytest.approx(found.simulated_j, rel=1e-4)
