"""Speeds of kernels on the nodes of a machine: fitted values that follow by hand, and platforms that carry them."""

from dataclasses import replace

import pytest

from apps.calibrate.machine.calibrate import remarks, speeds_of
from apps.calibrate.machine.command import _missing, kernels_from
from apps.calibrate.machine.kernels import (
    KernelSpeed,
    TimedKernels,
    efficiencies,
    kept_of,
    kernels_of,
    memory_Bps,
    spread,
    timed_kernels,
)  # fmt: skip
from apps.calibrate.machine.rows import MachineTime, Node, Rows, read_rows, written
from apps.errors import OptionError, SimulationError
from apps.machines.machine_file import read_machine
from apps.measuring.rehearsal import solo_problem
from apps.programs.problem import problem
from apps.spec.settings import Settings, platform_efficiency
from apps.spec.target import Target
from platforms.errors import PlatformError, UserError
from platforms.model.platform import KernelEfficiency
from platforms.read.read import kept_file, read_platform

PLATFORM = """<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full">
<host id="one" speed="1Gf" core="4"><prop id="kernel_efficiency" value="{shares}"/>
<prop id="memory_bandwidth" value="12e9"/></host>
<host id="two" speed="2Gf" core="4"><prop id="kernel_efficiency" value="cg=0.1:0.1"/></host>
<link id="l" bandwidth="1GBps" latency="1us"/><route src="one" dst="two"><link_ctn id="l"/></route>
</zone></platform>"""


def platform(shares="cg=0.5:0.25 ep=0.1:0.1"):
    return read_platform(kept_file(PLATFORM.format(shares=shares).encode()), "made")


def target(*hosts, app="cg", on=None):
    return Target(problem(app, "S"), on or platform(), hosts)


def kernel_row(experiment, node, kernel, operations, time_s, group=0):
    return MachineTime(experiment, group, node, kernel, operations, time_s, 1.0)


def rows(*kernels):
    """Four nodes of two ranks whose multiply-adds are alike, and rows of kernels."""
    names = ("a", "b", "c", "d")
    nodes = [MachineTime("node", 0, name, "", 2, 0.0, 0.0) for name in names]
    work = [MachineTime("alone", 0, name, "", 100, 1.0, 1.0) for name in names]
    end = MachineTime("end", 0, "a", "", 1, 0.0, 2.0)
    return Rows(tuple(Node(name, 0, 2) for name in names), (*nodes, *kernels, *work, end))


def test_speeds_are_medians_of_operations_over_time():
    made = [kernel_row("kernel-alone", "a", "cg", 100, time_s) for time_s in (1.0, 2.0, 4.0)]
    made += [kernel_row("kernel-busy", "a", "cg", 100, time_s) for time_s in (5.0, 5.0, 10.0)]
    assert kernels_of(rows(*made)) == {"cg": {"a": KernelSpeed(50.0, 20.0)}}


def test_shares_are_those_of_the_platforms_speeds_and_a_kernel_above_them_is_named():
    speeds = {
        "cg": {"a": KernelSpeed(50.0, 20.0), "b": KernelSpeed(60.0, 30.0)},
        "ep": {"a": KernelSpeed(300.0, 300.0)},
    }
    found, above = efficiencies(speeds, ["a", "b"], {"a": 100.0, "b": 200.0}, {"a": 2, "b": 2})
    assert found == [KernelEfficiency("cg", pytest.approx(0.4), pytest.approx(0.175))]  # of 0.5, 0.3 and 0.2, 0.15
    assert above == ["ep"]


def test_a_kernel_that_was_not_timed_with_all_cores_busy_has_no_share():
    speeds = {"cg": {"a": KernelSpeed(50.0, None)}}
    assert efficiencies(speeds, ["a"], {"a": 100.0}, {"a": 2}) == ([], [])
    assert efficiencies(speeds, ["a"], {"a": 100.0}, {"a": 1})[0] == [KernelEfficiency("cg", 0.5, 0.5)]


def test_a_memory_bus_is_given_back():
    bandwidth_Bps, ranks, speeds = 10e9, 4, {}
    for name in ("cg", "dot", "mg", "ep"):
        busy_s = 1e-9 + (ranks - 1) * solo_problem(name).bytes_per_flop / bandwidth_Bps
        speeds[name] = {"a": KernelSpeed(1e9, 1 / busy_s)}
    assert memory_Bps(speeds, {"a": ranks}) == pytest.approx(bandwidth_Bps)
    assert memory_Bps({"cg": speeds["cg"], "ep": speeds["ep"]}, {"a": ranks}) is None  # one kernel alone may be chance


def test_a_node_that_is_slow_in_all_kernels_is_named_and_slower_on_the_platform():
    speeds = {"a": 1.0, "b": 1.01, "c": 0.8, "d": 1.0}
    made = [
        kernel_row("kernel-alone", node, name, 1000, 1 / speed)
        for name in ("cg", "mg", "ep")
        for node, speed in speeds.items()
    ]
    found = rows(*made)
    assert speeds_of(found).share("c", "abcd") == pytest.approx(0.8)
    assert speeds_of(found).share("a", "abcd") == 1.0
    assert "c computes at 80% of the median of its cluster" in remarks(found, speeds_of(found))
    assert spread(kernels_of(found), "cg", "abcd") == pytest.approx(0.21)


def test_a_kernel_that_cannot_be_timed_is_left_out_and_the_others_are_kept(tmp_path, monkeypatch):
    (tmp_path / "m.toml").write_text(
        f'folder = "{tmp_path}"\n[launcher]\ncommand = ["mpirun", "{{program}}"]\n[[clusters]]\nname = "all"\n'
        'hosts = ["a", "b"]\ngflops = 1\n[network]\nbandwidth_gbit_s = 1\nlatency_us = 1\n'
    )
    machine, runs = read_machine(tmp_path / "m.toml"), []

    def times(_, __, name, hosts):
        runs.append(name)
        if len(runs) == 8:
            raise KeyboardInterrupt
        if name == "cg":
            raise SimulationError("cg on machine m: a rank fell behind")
        return 1000.0, (1.0,) * len(hosts)

    monkeypatch.setattr("apps.calibrate.machine.kernels.solo_times", times)
    names, kept = ("cg", "ep", "mg"), kept_of(machine)
    with pytest.raises(KeyboardInterrupt):
        timed_kernels(machine, names, machine.hosts, 60.0, kept)
    assert runs == ["cg", "ep", "mg", "cg", "ep", "mg", "ep", "mg"]  # after two failures cg is left out
    assert [row.second for row in kept.kernel_rows()] == ["ep", "ep", "mg", "mg"] * 2 + ["ep", "ep"]
    done = timed_kernels(machine, names, machine.hosts, 0.0, kept)  # continues after the stored rows
    assert len(done.rows) == 10
    notes = _missing(names, replace(done, refused={("kernel-alone", "cg"): "a rank fell behind"}), 60.0)
    assert notes == ["cg could not be timed alone and is left out: a rank fell behind"]


def test_rows_of_kernels_are_read_again_and_others_refused():
    header = "experiment,group,first,second,amount,time_s,at_s\n"
    with pytest.raises(UserError, match="no kernel 'cq'"):
        read_rows(f"{header}kernel-alone,0,a,cq,10,1,1\n", "here")
    made = rows(kernel_row("kernel-busy", "a", "cg", 100, 1.0))
    assert "kernel-busy,0,a,cg,100,1,1.0" in written(made)
    assert made.renamed("wxyz").of("kernel-busy")[0].second == "cg"


def test_names_of_kernels_are_checked():
    assert kernels_from("none") == ()
    assert {"cg", "ep", "dot"} <= set(kernels_from("all"))
    assert kernels_from("MG, cg") == ("mg", "cg")
    with pytest.raises(UserError, match="no kernel 'cq'"):
        kernels_from("cg,cq")


@pytest.mark.parametrize(("ranks", "share"), [(1, 1 / 2), (2, 3 / 8), (4, 1 / 4), (8, 1 / 4)])
def test_the_time_of_an_operation_grows_evenly_with_the_busy_cores(ranks, share):
    # By hand, in 1e-9 s: 2 with one rank and 4 with four, so 2 + 2 / 3 with two.
    assert platform_efficiency(target(*["one"] * ranks)) == pytest.approx(share)


def test_hosts_of_several_speeds_have_the_share_with_which_equal_work_takes_the_same_time():
    # By hand, in 1e-9 s: nominal 1 + 1 / 2, measured 1 / 0.5 + 1 / (0.1 x 2).
    assert platform_efficiency(target("one", "two")) == pytest.approx(1.5 / 7)


def test_a_memory_bus_takes_its_bytes_out_of_the_share():
    # By hand, in 1e-9 s: 2 less 6 bytes over 12 bytes.
    assert platform_efficiency(target("one"), memory_bus="platform") == pytest.approx(1 / 1.5)
    assert platform_efficiency(target("one"), memory_bus=24e9) == pytest.approx(1 / 1.75)
    with pytest.raises(OptionError, match="leaves no time for its bytes"):
        platform_efficiency(target("one"), memory_bus=3e9)


def test_runs_take_the_share_of_the_platform():
    assert Settings(efficiency="platform").spec(target("one")).efficiency == pytest.approx(0.5)
    with pytest.raises(OptionError, match="platform made gives no efficiency of mg on host one"):
        Settings(efficiency="platform").spec(target("one", app="mg"))


@pytest.mark.parametrize("shares", ["cg", "cg=1.5:1", "cg=0:1", "cg=a:b", "cg=1e-:1"])
def test_shares_that_are_none_are_refused(shares):
    with pytest.raises(PlatformError, match="not KERNEL=ALONE:BUSY"):
        platform(shares)


def test_kernels_that_were_not_timed_are_named_with_a_budget_that_would_do():
    # By hand: one of four kernels in a third of 120 s, so that four take as long as a third of 480 s.
    timed = TimedKernels((kernel_row("kernel-alone", "a", "cg", 1e6, 1.0),), {})
    assert _missing(("cg", "ep", "mg", "lu"), timed, 120.0) == [
        "the budget ended before these kernels were timed alone: ep, mg, lu; --budget 480 may suffice for all"
    ]
    assert _missing(("cg",), timed, 120.0) == []
