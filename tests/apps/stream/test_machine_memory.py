"""STREAM's triad on the nodes of a machine: what is counted, kept, calibrated and planned with."""

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from apps.calibrate.machine.command import timed_triads
from apps.calibrate.machine.kernels import TimedKernels, triad_Bps
from apps.calibrate.machine.rows import MachineTime, Rows
from apps.errors import KernelError, SimulationError
from apps.machines.launch import Launched
from apps.machines.machine_file import read_machine
from apps.measuring.rehearsal import solo_problem
from apps.speed import COMMAND
from apps.store.store import Store
from apps.stream import on_machine
from apps.stream.on_machine import memory_of_machine
from platforms.errors import UserError
from predictor.hierarchical.memory import memory_from
from tests.machines import NO_MPI, open_mpi

EXAMPLES = Path(__file__).parents[3] / "examples" / "machines"
MACHINE = """folder = "{folder}"
[launcher]
command = ["mpirun", "{{program}}"]
[[clusters]]
name = "old"
hosts = ["o[1-2]"]
cores = 2
gflops = 1
[[clusters]]
name = "new"
hosts = ["n1"]
cores = 4
gflops = 1
[network]
bandwidth_gbit_s = 1
latency_us = 1
"""


def said(node, *triads, caches=8_000_000):
    """What the program prints: processes, elements of each, and the seconds of each repeat."""
    rows = [{"processes": count, "elements": n, "times_s": times} for count, n, times in triads]
    return json.dumps({"node": node, "cache_bytes": caches, "available_bytes": 10**10, "triads": rows})


# By hand: three arrays of 8 bytes an element; 2 x 5,000,000 elements are 240 MB, in the quicker 0.02 s 12 GB/s.
OLD = said("o1", (1, 10_000_000, [0.03, 0.04]), (2, 5_000_000, [0.025, 0.02]))
NEW = said("n1", (1, 10_000_000, [0.02]), (2, 5_000_000, [0.012]), (4, 2_500_000, [0.01]))


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A machine of two kinds of nodes, whose launches print what the test has appended."""
    path = tmp_path / "lab.toml"
    path.write_text(MACHINE.format(folder=tmp_path))
    launched, printed = [], []

    def launch(_, words, hosts, **__):
        launched.append(list(hosts))
        text = printed.pop(0)
        if text is KeyboardInterrupt:
            raise text
        return Launched(int(not text), text, "", 1.0, False, tuple(words), {})

    monkeypatch.setattr(on_machine, "launch", launch)
    monkeypatch.setattr(on_machine, "machine_program", lambda *_: tmp_path / "measure")
    monkeypatch.setattr(on_machine, "tool_stamps", lambda _: [])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return SimpleNamespace(path=path, machine=read_machine(path), launched=launched, printed=printed)


def test_each_kind_of_node_is_measured_once_and_kept_if_the_next_is_interrupted(lab, tmp_path):
    lab.printed += [OLD, KeyboardInterrupt, NEW]
    with Store(tmp_path / "store") as store:
        with pytest.raises(KeyboardInterrupt):
            memory_of_machine(lab.machine, store)
        found = memory_of_machine(lab.machine, store)
        assert memory_of_machine(lab.machine, store) == found
    assert lab.launched == [["o1"] * 2, ["n1"] * 4, ["n1"] * 4]
    rates = {name: [one.bandwidth_Bps for one in node.triads] for name, node in found.items()}
    assert rates == {"old": pytest.approx([8e9, 12e9]), "new": pytest.approx([12e9, 20e9, 24e9])}
    assert [node.array_bytes for node in found.values()] == [80_000_000] * 2


@pytest.mark.parametrize(
    ("text", "error", "reason"),
    [
        ("", SimulationError, "measuring the memory of machine lab: the launcher ended with status 1"),
        (said("n1"), KernelError, "ranks for o1 ran on n1: the launcher ignores its host file"),
        (said("o1"), UserError, "less than 0.96 GB of memory are free"),
    ],
)
def test_what_is_no_measurement_is_refused(lab, text, error, reason):
    lab.printed.append(text)
    with pytest.raises(error, match=reason):
        memory_of_machine(lab.machine, None)


def test_the_command_shows_every_kind_of_node(lab):
    lab.printed += [OLD, said("n1", (1, 10_000_000, [0.02]), caches=10**9)]
    reply = COMMAND.ask(memory=True, machine=str(lab.path))
    assert reply.to_json()["clusters"]["old"]["bandwidth_Bps"] == pytest.approx([8e9, 12e9])
    text = " ".join(reply.text().split())
    assert "old, measured on o1:" in text and "10 times the last caches" in text
    assert "gridval plan cores --memory 12 new, measured on n1:" in text
    assert text.count("caution: less than 4 times the caches") == 1


def test_a_machine_without_memory_has_no_effect_and_is_refused(lab, capsys):
    assert COMMAND.main(["--machine", str(lab.path)]) == 2
    assert "has no effect without --memory" in capsys.readouterr().err


def test_a_calibration_measures_the_clusters_whose_kernels_do_not_show_their_memory(lab):
    # The kernels show a bus of 10 GB/s on the nodes with four cores, and nothing on the others.
    kernels = []
    for group, name in enumerate(("cg", "dot")):
        busy_s = 1e-9 + 3 * solo_problem(name).bytes_per_flop / 10e9
        for what, time_s in (("kernel-alone", 1e-9), ("kernel-busy", busy_s)):
            kernels.append(MachineTime(what, group, "n1", name, 10**9, 1e9 * time_s, 5.0))
    lab.printed.append(OLD)
    rows, notes = timed_triads(lab.machine, TimedKernels(tuple(kernels), {}))
    assert rows == [MachineTime("triad", 0, "o1", "", 240_000_000, 0.02, 5.0)] and notes == []
    assert lab.launched == [["o1"] * 2]
    assert triad_Bps(Rows((), tuple(rows)), ["o1", "o2"]) == pytest.approx(12e9)
    assert triad_Bps(Rows((), tuple(rows)), ["n1"]) is None


def test_a_calibration_goes_on_without_the_memory_that_cannot_be_measured(lab):
    lab.printed.append("")
    rows, (note,) = timed_triads(lab.machine, TimedKernels((), {}))
    assert rows == [] and note.startswith("the memory of the nodes is not measured: ")


PLATFORM = """<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="1Gf">{a}</host><host id="b" speed="1Gf">{b}
</host><link id="l" bandwidth="1GBps" latency="1us"/><route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>
"""


def test_plans_take_the_memory_of_a_number_a_calibrated_platform_or_a_machine(lab, tmp_path):
    pool, file = SimpleNamespace(no_store=True), tmp_path / "made.xml"
    assert [memory_from(text, pool) for text in (None, "12.5", "inf")] == [None, 12.5, float("inf")]
    prop = '<prop id="memory_bandwidth" value="{}"/>'
    file.write_text(PLATFORM.format(a=prop.format("12.4e9"), b=prop.format("12e9")))
    assert memory_from(str(file), pool) == pytest.approx(12)
    only_old = lab.path.read_text().replace('hosts = ["n1"]\ncores = 4', 'hosts = ["n1"]\ncores = 2')
    lab.path.write_text(only_old)
    lab.printed += [OLD, OLD.replace("o1", "n1"), OLD, said("n1", (1, 10_000_000, [0.01]))]
    assert memory_from(str(lab.path), pool) == pytest.approx(12)
    with pytest.raises(UserError, match="nodes of 12 to 24 GB/s, but the model's are equal"):
        memory_from(str(lab.path), pool)
    file.write_text(PLATFORM.format(a=prop.format("12e9"), b=""))
    with pytest.raises(UserError, match="host 'b' has no memory_bandwidth"):
        memory_from(str(file), pool)
    with pytest.raises(UserError, match="--memory much: not a number"):
        memory_from("much", pool)


@pytest.mark.skipif(not (open_mpi() and shutil.which("mpicc")), reason=NO_MPI)
def test_the_program_measures_a_real_node_under_its_launcher(tmp_path):
    path = tmp_path / "here.toml"
    path.write_text(
        (EXAMPLES / "local.toml").read_text().replace("cores = 2", "cores = 3").replace("ranks = 2", "ranks = 3")
    )
    found = memory_of_machine(read_machine(path), None, elements=100_000)["here"]
    assert [(one.processes, one.elements) for one in found.triads] == [(1, 100_000), (2, 50_000), (3, 33_333)]
    assert all(len(one.times_s) == 10 and min(one.times_s) > 0 for one in found.triads)
