"""A simulated machine is measured and calibrated: the calibration has to give back what the machine was made of."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from apps.calibrate.cli import main
from apps.calibrate.machine import command
from apps.calibrate.machine.calibrate import CalibrationInput, calibrated, remarks, speeds_of
from apps.calibrate.machine.collectives import Collectives
from apps.calibrate.machine.contention import (
    LEFT_RING,
    OPPOSED,
    RING,
    THROUGH,
    label,
    rows_of_flows,
    sharing_of,
)  # fmt: skip
from apps.calibrate.machine.judge import ALL_TO_ALL, Judged, Judgement, all_to_all_notes, median_error, worst
from apps.calibrate.machine.kernels import kept_of
from apps.calibrate.machine.page import machine_page
from apps.calibrate.machine.picture import machine_figure
from apps.calibrate.machine.report import as_json, as_text, error_rows, experiment_rows
from apps.calibrate.machine.rows import MachineTime, Rows, checked_rows, read_rows, written
from apps.errors import KernelError
from apps.machines.launch import Launched
from apps.machines.machine_file import read_machine
from apps.probes.machine.measure import machine_program, simulated_rows
from platforms.errors import UserError
from platforms.read.read import kept_file, read_platform

OPTIONS = {
    "smpi/lat-factor": "0:1;65551:3", "smpi/bw-factor": "0:0.8;65551:1", "network/crosstraffic": "0",
    "network/TCP-gamma": "0", "network/weight-S": "0", "smpi/async-small-thresh": "65536",
    "smpi/send-is-detached-thresh": "65536", "smpi/os": "0:40e-6:2e-10", "smpi/or": "0:30e-6:1e-10",
    "smpi/ois": "0:10e-6:0",
}  # fmt: skip
MEASURING = ["passes=1", "budget=1e9"]


def machine(tmp_path, clusters, links, routes, *, policy="SPLITDUPLEX"):
    """A platform of clusters {name: (nodes, attributes)}; node links of 100 Mbit/s and 250 us."""
    props = "".join(f'<prop id="{key}" value="{value}"/>' for key, value in OPTIONS.items())
    parts = [
        f'<cluster id="{name}" prefix="{name}" suffix="" radical="0-{nodes - 1}" bw="100Mbps" lat="250us" '
        f'sharing_policy="{policy}" {more}/>'
        for name, (nodes, more) in clusters.items()
    ]
    file = tmp_path / "machine.xml"
    file.write_text(
        f'<?xml version="1.0"?><!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd"><platform version="4.1">'
        f'<config>{props}</config><zone id="world" routing="Full">{"".join(parts)}{links}{routes}</zone></platform>'
    )
    return read_platform(file)


def zone_route(one, other, *links):
    crossed = "".join(f'<link_ctn id="{link}" direction="{way}"/>' for link, way in links)
    gateways = f'gw_src="{one}{one}_router" gw_dst="{other}{other}_router"'
    return f'<zoneRoute src="{one}" dst="{other}" {gateways}>{crossed}</zoneRoute>'


def two_clusters(tmp_path, **more):
    return machine(
        tmp_path,
        {"a": (4, 'speed="1Gf"'), "b": (2, 'speed="2Gf"')},
        '<link id="wan" bandwidth="50Mbps" latency="2ms" sharing_policy="SPLITDUPLEX"/>',
        zone_route("a", "b", ("wan", "UP")),
        **more,
    )


def rows_of(platform, *hosts):
    return read_rows(simulated_rows(platform, hosts or [host.name for host in platform.hosts], MEASURING), "rows")


def request(rows, **more):
    names = [f"c{c}" for c in range(rows.clusters)]
    cores, open_mpi = [1] * rows.clusters, Collectives("ompi", {}, "")
    made = CalibrationInput(rows, "made", names, cores, None, open_mpi, 4, ["By hand."])
    return replace(made, **more)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    return rows_of(two_clusters(tmp_path_factory.mktemp("two")))


@pytest.fixture(scope="module")
def found(measured):
    return calibrated(request(measured))


def test_the_program_measures_what_calculation_gives(measured):
    # By hand: an eager message takes os, two links of 250 us, its bytes and 16 of a header at 0.8 of 12.5 MB/s, and or.
    half = 40e-6 + 1000 * 2e-10 + 500e-6 + 1016 / 10e6 + 30e-6 + 1000 * 1e-10
    assert measured.medians("pingpong")["a2", "a3"][1000] == pytest.approx(2 * half, abs=1e-7)
    # Rendezvous between the clusters: three times 2.5 ms, and the bytes at 6.25 MB/s.
    assert measured.medians("pingpong")["a3", "b1"][65536] == pytest.approx(2 * (7.5e-3 + 65552 / 6.25e6), abs=1e-7)
    assert measured.medians("send")["a0", "a1"][1024] == pytest.approx(40e-6 + 1024 * 2e-10, abs=2e-8)
    assert measured.medians("isend")["a0", "a1"][1024] == pytest.approx(10e-6, abs=2e-8)
    assert measured.medians("recv")["a0", "a1"][1024] == pytest.approx(30e-6 + 1024 * 1e-10, abs=2e-8)
    assert (measured.threshold("send-waits"), measured.threshold("recv-waits")) == (65536, 65536)
    assert speeds_of(measured).alone["b0"] == pytest.approx(2e9, rel=1e-5)


def test_clusters_are_found_by_latency(measured):
    assert (measured.members(0), measured.members(1)) == (("a0", "a1", "a2", "a3"), ("b0", "b1"))


def test_a_machine_whose_nodes_are_all_alike_is_one_cluster(tmp_path):
    platform = machine(tmp_path, {"a": (4, 'speed="1Gf"')}, "", "")
    assert rows_of(platform).clusters == 1


def test_the_calibration_gives_the_machine_back(found):
    wires = found.network.wires
    assert wires[0, 0].latency_s == pytest.approx(500e-6, rel=1e-3)
    assert wires[1, 1].latency_s == pytest.approx(500e-6, rel=1e-3)
    assert wires[0, 1].latency_s == pytest.approx(2500e-6, rel=1e-3)
    assert [wires[kind].bandwidth_Bps for kind in ((0, 0), (0, 1))] == pytest.approx([12.5e6, 6.25e6], rel=1e-3)
    factors = [part.split(":") for part in found.options["smpi/lat-factor"].split(";")]
    assert [(int(size), pytest.approx(float(factor), rel=2e-3)) for size, factor in factors] == [(0, 1), (65551, 3)]
    factors = [part.split(":") for part in found.options["smpi/bw-factor"].split(";")]
    assert [(int(size), pytest.approx(float(factor), rel=2e-3)) for size, factor in factors] == [(0, 0.8), (65551, 1)]
    assert found.options["smpi/send-is-detached-thresh"] == found.options["smpi/async-small-thresh"] == "65536"
    assert [one.speed_flops for one in found.nodes] == pytest.approx([1e9] * 4 + [2e9] * 2, rel=1e-4)


def test_links_that_flows_share_are_found(found):
    assert found.sharing.arrangement == "pairs"
    assert found.sharing.links[0, 1].each_way_Bps == pytest.approx(6.25e6, rel=5e-3)
    assert found.sharing.links[0, 1].both_ways_Bps is None
    assert not found.sharing.nodes_both_ways_Bps and not found.sharing.switches_Bps
    assert not found.remarks


def test_the_replay_meets_sizes_pairs_and_flows_that_were_not_fitted(found):
    by_what = found.judgement.by_what
    assert {"ping-pong, new sizes", "ping-pong, new pairs", "between two clusters", "both ways, clusters"} <= set(
        by_what
    )
    for what, judged in by_what.items():
        assert median_error(judged) < 2e-3, what
        assert abs(worst(judged).error) < 5e-3, what


def test_all_to_alls_are_measured_and_judged_but_not_fitted(found, measured):
    # By hand: the wide-area link carries 4 x 2 messages of 131,072 bytes each way, at 6.25 MB/s, after 3 x 2.5 ms.
    time_s = measured.medians("alltoall")["a0", ""][131072]
    assert time_s == pytest.approx(8 * (131072 + 16) / 6.25e6 + 7.5e-3, rel=0.02)
    judged = found.judgement.by_what[ALL_TO_ALL]
    assert [one.size_bytes for one in judged] == [64, 4096, 32768, 131072]
    without = replace(measured, rows=tuple(row for row in measured.rows if row.experiment != "alltoall"))
    made = calibrated(request(without))
    assert made.content == found.content and ALL_TO_ALL not in made.judgement.by_what


def test_slow_all_to_alls_of_messages_that_wait_are_told(measured):
    def notes(size, measured_s):
        return all_to_all_notes(Judgement([Judged(ALL_TO_ALL, "8 nodes", size, measured_s, 0.1)], measured), 65536)

    assert len(notes(131072, 0.13)) == 1 and " 1.30 times as long " in notes(131072, 0.13)[0]
    assert not notes(131072, 0.11)
    assert not notes(4096, 0.13)  # an eager message


def test_links_that_do_not_carry_both_ways_at_once_are_found(tmp_path):
    made = calibrated(request(rows_of(two_clusters(tmp_path, policy="SHARED"))))
    # By hand: both ways share the 12.5 MB/s of each node's link.
    assert made.sharing.nodes_both_ways_Bps == pytest.approx({0: 12.5e6, 1: 12.5e6}, rel=0.01)
    assert median_error(made.judgement.by_what["both ways, two nodes"]) < 0.01


def test_what_slows_flows_through_a_node_alone_is_not_its_link(found, measured):
    # A link that carried both ways one after the other would slow both ways between two nodes too.
    def slowed(row):
        through = row.experiment == "flow" and label(measured, flows[row.group]) == THROUGH
        return replace(row, time_s=1.75 * row.time_s) if through else row

    groups = {row.group for row in measured.of("flow")}
    flows = {g: tuple((row.first, row.second) for row in measured.of("flow") if row.group == g) for g in groups}
    rows = replace(measured, rows=tuple(map(slowed, measured.rows)))
    assert not sharing_of(rows, found.network.wires).nodes_both_ways_Bps


def test_a_switch_and_a_link_that_two_flows_do_not_fill_are_found_by_more(tmp_path):
    # By hand: two flows of 100 Mbit/s fit into a switch of 250 Mbit/s, four do not, and those to the other cluster
    # cross it too; the link between the clusters carries 150 Mbit/s, both ways together.
    clusters = {"a": (4, 'speed="1Gf" bb_bw="250Mbps" bb_lat="0us"'), "b": (3, 'speed="1Gf"')}
    wan = '<link id="wan" bandwidth="150Mbps" latency="2ms" sharing_policy="SHARED"/>'
    made = calibrated(request(rows_of(machine(tmp_path, clusters, wan, zone_route("a", "b", ("wan", "NONE"))))))
    assert made.sharing.switches_Bps == pytest.approx({0: 31.25e6}, rel=0.01)
    assert made.sharing.outside == {0}
    link = made.sharing.links[0, 1]
    assert (link.each_way_Bps, link.both_ways_Bps) == pytest.approx((18.75e6, 18.75e6), rel=0.01)
    for what in (RING, LEFT_RING, OPPOSED):
        assert abs(worst(made.judgement.by_what[what]).error) < 0.01, what
    lines = {line[0]: line[2] for line in experiment_rows(made)}
    assert lines[RING] == "c0: 31.26 MB/s for all flows together; up to 4 flows"
    assert lines[LEFT_RING].startswith("flows to other clusters cross the switch of c0")


def test_what_the_budget_left_out_of_the_first_pass_is_said_and_the_platform_made(measured):
    cut = tuple(row for row in measured.rows if row.experiment not in ("flow", "alltoall", "end"))
    rows = checked_rows(cut, "rows")
    made = calibrated(request(rows))
    assert made.network.wires[0, 1].latency_s == pytest.approx(2500e-6, rel=1e-3)
    note = next(remark for remark in made.remarks if remark.startswith("the budget ended in the first pass"))
    assert "one flow, both ways, two nodes" in note and "MPI_Alltoall" in note and "on one node" not in note
    assert ("one flow", "0", "not measured") in experiment_rows(made)


@pytest.mark.parametrize("arrangement", ["uplinks", "backbone", "pairs"])
def test_the_arrangement_of_links_between_clusters_is_found(tmp_path, arrangement):
    names, links, routes = "abcd", "", ""
    wan = '<link id="{}" bandwidth="80Mbps" latency="{}ms" sharing_policy="SPLITDUPLEX"/>'
    if arrangement == "backbone":
        links = wan.format("bb", 4)
    elif arrangement == "uplinks":
        links = "".join(wan.format(f"up{name}", 2) for name in names)
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            if arrangement == "pairs":
                links += wan.format(one + other, 4)
            crossed = {
                "uplinks": [(f"up{one}", "UP"), (f"up{other}", "DOWN")], "backbone": [("bb", "UP")],
                "pairs": [(one + other, "UP")],
            }  # fmt: skip
            routes += zone_route(one, other, *crossed[arrangement])
    platform = machine(tmp_path, {name: (2, 'speed="1Gf"') for name in names}, links, routes)
    made = calibrated(request(rows_of(platform)))
    assert made.sharing.arrangement == arrangement
    assert [link.each_way_Bps for link in made.sharing.links.values()] == pytest.approx(
        [10e6] * len(made.sharing.links), rel=0.01
    )
    assert all(median_error(judged) < 0.01 for judged in made.judgement.by_what.values())


def test_ranks_on_one_node_get_a_link_of_their_own(tmp_path):
    platform = machine(tmp_path, {"a": (2, 'speed="1Gf" core="2" loopback_bw="1GBps" loopback_lat="1us"')}, "", "")
    made = calibrated(request(rows_of(platform, "a0", "a0", "a1", "a1"), cores=[2]))
    # By hand: with the factors that fit the network, whose bandwidth factor is 0.8 for small messages there too.
    assert made.network.local[0].latency_s == pytest.approx(1e-6, rel=0.05)
    assert made.network.local[0].bandwidth_Bps == pytest.approx(1e9, rel=0.05)
    trips = made.judgement.replay.medians("pingpong")
    assert trips["a0", "a0"][1024] == pytest.approx(made.routes.trips["a0", "a0"][1024], rel=0.02)


def test_slow_nodes_and_drift_are_named(measured):
    slow = [replace(row, time_s=2 * row.time_s) if row.first == "a2" else row for row in measured.rows]
    rows = Rows(measured.nodes, tuple(slow))
    assert remarks(rows, speeds_of(rows)) == ("a2 computes at 50% of the median of its cluster",)
    end = measured.rows[-1]
    for change, said in ((1.5, "50% longer"), (0.5, "50% less")):
        late = [
            MachineTime("alone", 1, "a1", "", 10**6, 1e-3 * (change if at > 66 else 1), at) for at in range(1, 100, 5)
        ]
        drifted = Rows(measured.nodes, (*late, replace(end, at_s=100.0)))
        shown = remarks(drifted, speeds_of(measured))
        assert shown == (f"drift: computing on a1 took {said} in the last third of the time than in the first",)


def test_single_disturbed_values_do_not_make_a_node_another(measured):
    first = next(row for row in measured.rows if row.experiment == "alone" and row.first == "a1")
    usual = [replace(first, at_s=first.at_s + at) for at in range(2)]
    fast, slow = replace(usual[0], time_s=0.7 * first.time_s), [replace(row, time_s=1.2 * row.time_s) for row in usual]
    others = [row for row in measured.rows if (row.experiment, row.first) != ("alone", "a1")]
    nodes = measured.members(measured.cluster_of("a1"))
    disturbed = speeds_of(Rows(measured.nodes, (*others, fast, usual[1])))
    assert disturbed.share("a1", nodes) == 1
    assert disturbed.usual(nodes) == pytest.approx(1e9, rel=1e-4)
    assert speeds_of(Rows(measured.nodes, (*others, *slow))).share("a1", nodes) < 0.95


def test_the_rows_that_are_written_are_read_again(measured):
    assert read_rows(written(measured), "again") == measured


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: "nothing", "no line experiment,group"),
        (lambda text: text.replace("\nend,", "\n# end,"), "the measurement did not end"),
        (lambda text: text.replace("\nsend,", "\nsand,", 1), "no experiment 'sand'"),
        (lambda text: text.replace("\nend,", "\nsend,1,a0,a1,x,1,1\nend,"), "not numbers: 1, x, 1, 1"),
        (lambda text: text.replace("\nend,", "\nsend,1,a0,a1,5\nend,"), "5 values"),
        (lambda text: text.replace("\nend,", "\nsend,1,a0,zz,5,1,1\nend,"), "node 'zz' has no row of its own"),
        (lambda text: re.sub(r"\nalone,.*", "", text), "no time of computing"),
    ],
)
def test_wrong_rows_are_refused(measured, change, said):
    with pytest.raises(UserError) as refused:
        read_rows(change(written(measured)), "rows.csv")
    assert said in str(refused.value)


def test_the_summary_is_folded_at_80_columns_and_wide_tables_are_not(found):
    files = {"platform": "a.xml"}
    folded, wide = as_text(found, files).splitlines(), as_text(found, files, wide=True).splitlines()
    assert max(map(len, folded)) <= 80
    cells = {"  ".join(row) for row in error_rows(found)[1:]}
    assert cells <= {re.sub(" {2,}", "  ", line).strip() for line in wide}  # every row in one line


def test_the_command_writes_platform_rows_picture_and_page(tmp_path, measured, capsys):
    (tmp_path / "rows.csv").write_text("a line of a launcher\n" + written(measured))
    out = tmp_path / "made.xml"
    words = ["--measured", str(tmp_path / "rows.csv"), "--cluster", "lab", "--core-gflops", "3,4", "--out", str(out)]
    assert main([*words, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert sorted(os.listdir(tmp_path)) == ["made.html", "made.png", "made.rows.csv", "made.xml", "rows.csv"]
    platform = read_platform(out)
    assert {host.name: host.speed_flops for host in platform.hosts} == {
        **dict.fromkeys(("a0", "a1", "a2", "a3"), 3e9), **dict.fromkeys(("b0", "b1"), 4e9),
    }  # fmt: skip
    assert dict(platform.options) == shown["options"]
    assert shown["sharing"]["links"]["lab0 to lab1"]["each_way_Bps"] == pytest.approx(6.25e6, rel=5e-3)
    assert "Calibration of lab" in (tmp_path / "made.html").read_text()
    assert "sha256" in out.read_text()
    assert main(words) == 0
    assert "lab0: 4 nodes of 1 core of 3 Gflop/s: a0, a1, a2, a3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--nodes 4", "--nodes 4: has no effect with --measured"),
        ("--core-gflops 1,2,3", "--core-gflops 1,2,3: 2 clusters were measured"),
        ("--core-gflops 0", "--core-gflops 0: out of range"),
        ("--budget 9", "--budget 9.0: has no effect with --measured"),
        ("--out {folder}/rows.csv", "its name does not end with .xml"),
        ("--measured {folder}/none.csv", "none.csv: cannot be read: No such file or directory"),
    ],
)
def test_wrong_options_are_one_line(tmp_path, measured, capsys, words, said):
    (tmp_path / "rows.csv").write_text(written(measured))
    given = ["--measured", str(tmp_path / "rows.csv"), "--out", str(tmp_path / "made.xml")]
    assert main([*given, *words.format(folder=tmp_path).split()]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("renamed", "refused"),
    [({}, False), ({"a0": "a1", "a1": "a0"}, True), ({"a0": "a0.domain"}, False), ({"a0": "cpu7"}, False)],
)
def test_nodes_in_another_order_than_the_hosts_are_refused(tmp_path, measured, monkeypatch, renamed, refused):
    names = [node.name for node in measured.nodes]
    (tmp_path / "m.toml").write_text(
        f'folder = "{tmp_path}"\n[launcher]\ncommand = ["mpirun", "{{program}}"]\n[[clusters]]\n'
        f'name = "all"\nhosts = {json.dumps(names)}\n'
        "gflops = 1\n[network]\nbandwidth_gbit_s = 1\nlatency_us = 1\n"
    )
    rows = written(measured.renamed([renamed.get(name, name) for name in names]))
    done = Launched(0, rows, "", 1.0, False, (), {})
    monkeypatch.setattr(command, "machine_program", lambda *_: tmp_path / "program")
    monkeypatch.setattr(command, "launch", lambda *_, **__: done)
    machine = read_machine(tmp_path / "m.toml")
    if refused:
        with pytest.raises(KernelError, match="ranks for a0 ran on a1: the launcher ignores its host file"):
            command.measured(machine, 60.0, kept_of(machine))
    else:
        assert len(command.measured(machine, 60.0, kept_of(machine))[0].nodes) == len(names)


@pytest.fixture
def lab(tmp_path, measured, monkeypatch):
    """A machine whose launches end as the test says: status and the rows that were written until then."""
    names = [node.name for node in measured.nodes]
    (tmp_path / "m.toml").write_text(
        f'folder = "{tmp_path}"\n[launcher]\ncommand = ["mpirun", "{{program}}"]\n[[clusters]]\nname = "all"\n'
        f"hosts = {json.dumps(names)}\ngflops = 1\n[network]\nbandwidth_gbit_s = 1\nlatency_us = 1\n"
    )
    machine, launches = read_machine(tmp_path / "m.toml"), []

    def launch(_, words, *__, **___):
        status, text = launches.pop(0)
        kept_of(machine).running.write_text(text)
        if status == "interrupted":
            raise KeyboardInterrupt
        return Launched(status, text, "error: a rank fell behind", 1.0, False, tuple(words), {})

    monkeypatch.setattr(command, "machine_program", lambda *_: tmp_path / "program")
    monkeypatch.setattr(command, "launch", launch)
    return machine, launches


def test_a_disturbed_measurement_counts_as_far_as_it_has_come(lab, measured):
    machine, launches = lab
    launches.append((75, written(measured)))
    rows, notes = command.measured(machine, 60.0, kept_of(machine))
    assert len(rows.rows) == len(measured.rows)
    assert "rows are used: a rank fell behind" in notes[0]


def test_an_interrupted_measurement_is_gone_on_with(lab, measured):
    machine, launches = lab
    text = written(measured)
    launches += [("interrupted", text[: len(text) // 2]), (0, text)]
    with pytest.raises(KeyboardInterrupt):
        command.measured(machine, 60.0, kept_of(machine))
    rows, notes = command.measured(machine, 60.0, kept_of(machine))
    pair = ("a0", "a1")
    seen = [sum((row.first, row.second) == pair for row in made.of("pingpong")) for made in (measured, rows)]
    assert seen[1] > seen[0] and "rows of an earlier command were used too" in notes[0]
    assert {flows for flows, _ in rows_of_flows(rows)} == {flows for flows, _ in rows_of_flows(measured)}
    # Now a whole measurement is kept, so that nothing is launched; it is forgotten once its platform is written.
    assert command.measured(machine, 60.0, kept_of(machine))[0].of("flow")
    kept_of(machine).clear()
    launches.append((1, ""))
    with pytest.raises(KernelError, match="measuring failed: a rank fell behind"):
        command.measured(machine, 60.0, kept_of(machine))


@pytest.mark.skipif(not (shutil.which("mpicc") and shutil.which("mpirun")), reason="no MPI library is installed")
def test_the_program_runs_under_a_real_mpi(tmp_path):
    allowed = {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_mpi_yield_when_idle": "1",
    }
    words = ["mpirun", "-n", "2", str(machine_program("mpicc")), "budget=60", "largest=131072", "passes=1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, env={**os.environ, **allowed}, check=True)
    rows = read_rows(done.stdout, "mpirun")
    assert [node.ranks for node in rows.nodes] == [2]
    assert {row.experiment for row in rows.rows} >= {"pingpong", "send", "isend", "recv", "flow", "alone", "busy"}


def test_speeds_of_kernels_are_in_the_platform_the_json_the_table_and_the_page(measured):
    # By hand: hosts of 1 and 2 Gflop/s; cg at 0.5 and mg at 0.25 Gop/s on every node.
    kernels = [
        MachineTime("kernel-alone", 0, node.name, name, 1000, 1000 / speed, 1.0)
        for name, speed in (("cg", 0.5e9), ("mg", 0.25e9))
        for node in measured.nodes
    ]
    found = calibrated(request(measured.beside(kernels), core_flops=[1e9, 2e9], notes=("mg took long",)))
    hosts = read_platform(kept_file(found.content), "made").hosts
    assert {host.speed_flops: host.efficiencies[0].alone for host in hosts} == {1e9: 0.5, 2e9: 0.25}
    shown = as_json(found, {})
    assert shown["kernels"]["cg"][measured.nodes[0].name]["alone_per_s"] == pytest.approx(0.5e9)
    assert shown["kernel_efficiency"]["c1"]["mg"] == {"alone": pytest.approx(0.125), "busy": pytest.approx(0.125)}
    assert "mg took long" in shown["notes"]
    text, page = as_text(found, {}, wide=True), machine_page(found, machine_figure(found))
    assert re.search(r"c0 +cg +0.5 +- +- +0% +0.5 +0.5", text)
    assert "<h2>Kernels</h2>" in page and "<td>cg</td>" in page


def test_the_memory_that_a_triad_has_measured_is_in_the_platform_and_said(measured):
    # By hand: 240 MB in 0.02 s are 12 GB/s, on the first node of the first cluster.
    first = measured.members(0)[0]
    rows = measured.beside([MachineTime("triad", 0, first, "", 240_000_000, 0.02, 1.0)])
    made = calibrated(request(read_rows(written(rows), "again")))
    hosts = read_platform(kept_file(made.content), "made").hosts
    assert [host.memory_Bps for host in hosts] == [pytest.approx(12e9)] * 4 + [None] * 2
    assert "c0: memory of a node 12 GB/s, by STREAM's triad with all cores busy" in made.remarks
