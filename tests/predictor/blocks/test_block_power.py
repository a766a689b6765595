"""Power rules, and both readings of Table 1's P, by hand."""

import json
from math import exp, log2
from pathlib import Path

import pytest

from platforms.system.convert import system_named
from predictor.blocks.application import Application
from predictor.blocks.description import read_application
from predictor.blocks.evaluation.evaluate import evaluate
from predictor.blocks.names import POWER_RULES
from predictor.blocks.programs import Barrier, Broadcast, Compute, Label
from predictor.blocks.setting import Setting
from tests.verbs import blocks as main

EXAMPLES = Path(__file__).parents[3] / "examples"
GALERA_PLUS = str(EXAMPLES / "systems" / "galera-plus.toml")
BROADCAST = "[labels.p]\ncount = 64\nprogram = [{ broadcast = 65536 }]\n"


def one_node(tmp_path, cores=4):
    path = tmp_path / "node.toml"
    path.write_text(
        '[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\nname = "n"\ncpu = "toy"\n'
        "power = { idle_w = 10, full_w = 50 }\n"
    )
    hardware = tmp_path / "hardware.toml"
    hardware.write_text(
        f"[cpus.toy]\ncores = {cores}\nclock_ghz = 1\ndouble_per_cycle = 1\nsingle_per_cycle = 1\nidle_w = 1\n"
        'full_w = 2\nsource = "made up"\n'
    )
    return system_named(str(path), hardware=[str(hardware)])


@pytest.mark.parametrize(
    ("rule", "short_j", "long_j"),
    [
        # Two of four cores: 10 W idle, 20 W with one thread, 30 W with two.  One thread ends at 1 s, the other at 3 s.
        # Computing threads only: 10 W x 3 s shared equally, and 10 W more for each second of a thread.
        ("idle-waiting", 15 + 10, 15 + 30),
        # 30 W shared for 1 s, then 20 W for 2 s; nothing remains after the last end.
        ("active-waiting", 15, 15 + 40),
        ("paper", 15, 15 + 40),
    ],
)
def test_threads_that_end_at_different_times(tmp_path, rule, short_j, long_j):
    application = Application("", (Label("short", 1, (Compute(1e9),)), Label("long", 1, (Compute(3e9),))))
    setting = Setting(application, one_node(tmp_path))
    result = evaluate(application, setting.machine("hardware"), power=rule)
    assert [label.energy_j for label in result.labels] == pytest.approx([short_j, long_j])
    assert result.energy_j == pytest.approx(70)


@pytest.mark.parametrize(("rule", "joules"), [("active-waiting", 50 * 1 + 10 * 2 + 20 * 3), ("paper", 50 * 1 + 20 * 3)])
def test_only_the_paper_s_rule_stops_counting_a_node_at_its_end(tmp_path, rule, joules):
    # Four threads on the first node end at 1 s, one on the second at 3 s.
    application = Application("", (Label("a", 4, (Compute(1e9),)), Label("b", 1, (Compute(3e9),))))
    system_file = tmp_path / "node.toml"
    one_node(tmp_path)
    system_file.write_text(system_file.read_text().replace('name = "n"', 'name = "n"\ncount = 2'))
    setting = Setting(application, system_named(str(system_file), hardware=[str(tmp_path / "hardware.toml")]))
    assert evaluate(application, setting.machine("hardware"), power=rule).energy_j == pytest.approx(joules)


def test_waiting_is_idle_or_active(tmp_path):
    # The first process computes 1 s, the other waits for it at a barrier of 100 us.
    application = Application("", (Label("a", 1, (Compute(1e9), Barrier())), Label("b", 1, (Barrier(),))))
    setting = Setting(application, one_node(tmp_path))
    found = {rule: evaluate(application, setting.machine("hardware"), power=rule) for rule in POWER_RULES}
    time_s = found["paper"].time_s
    assert found["idle-waiting"].energy_j == pytest.approx(10 * time_s + 10)
    assert found["active-waiting"].energy_j == found["paper"].energy_j == pytest.approx(30 * time_s)


@pytest.mark.parametrize("rule", POWER_RULES)
def test_a_block_and_a_run_of_this_block_take_the_same_energy(tmp_path, capsys, rule):
    (tmp_path / "b.toml").write_text(BROADCAST)
    (tmp_path / "s.toml").write_text(
        Path(GALERA_PLUS).read_text().replace('name = "galera"', 'name = "galera"\nslots = { p = 1 }')
    )
    more = ["--power", rule, "--json"]
    assert main("block --model galera+ --block bcast --size 65536 --processes 64".split() + more) == 0
    block = json.loads(capsys.readouterr().out)
    assert (
        main(["run", str(tmp_path / "b.toml"), "--system", str(tmp_path / "s.toml"), "--model", "galera+", *more]) == 0
    )
    run = json.loads(capsys.readouterr().out)
    assert (run["time_s"], run["energy_j"]) == pytest.approx((block["time_s"], block["energy_j"]))
    # 64 nodes of 78 W, with 4.84 W more for an active thread (Table 3).
    watts = 78 if rule == "idle-waiting" else 82.84
    assert block["energy_j"] == pytest.approx(64 * watts * 1e-6 * (1.7 + 0.00188 * 65536 * 6))


def test_figure_2_comes_out_with_the_paper_s_rule_and_its_stated_assumptions():
    # Proficz and Czarnul, figure 2: end times to 1 us; the master's energy is in J; the total sums whole joules.
    application = read_application(EXAMPLES / "blocks" / "figure-2.toml")
    setting = Setting(application, system_named(str(EXAMPLES / "systems" / "figure-2.toml")))
    result = evaluate(application, setting.machine("hardware"), power="paper")
    master, slave1 = result.labels
    assert (master.last_s, slave1.last_s) == pytest.approx((26.144715, 13.208545), abs=1e-6)
    assert master.energy_j == pytest.approx(679.766357520914, rel=1e-5)
    assert slave1.energy_j / 3600 == pytest.approx(892.3106924881491, rel=2e-7)
    assert result.energy_j / 3600 == pytest.approx(892.499166666666, rel=5e-7)


@pytest.mark.parametrize(
    ("p_counts", "P"), [(None, 6), ("nodes", 6), ("processes", 64)], ids=["default", "nodes", "processes"]
)
def test_p_of_table_1_is_nodes_or_processes(p_counts, P):
    # Table 3 of Galera+: 1.7 us + 0.00188 us/B x 65536 B x log2 P; 64 processes are on 6 nodes of 12 cores.
    application = Application("", (Label("p", 64, (Broadcast(bytes=65536),)),))
    machine = Setting(application, system_named(GALERA_PLUS)).machine("galera+", p_counts=p_counts)
    assert evaluate(application, machine).time_s == pytest.approx(1e-6 * (1.7 + 0.00188 * 65536 * log2(P)))


def test_a_collective_within_one_node_keeps_the_formula_s_intercept():
    # log(1) = 0: T_bar alone, 1.4 us (Table 3).
    application = Application("", (Label("p", 12, (Barrier(),)),))
    machine = Setting(application, system_named(GALERA_PLUS)).machine("galera+")
    assert evaluate(application, machine).time_s == pytest.approx(1.4e-6)


TWO_LANS = """
[wan]
network = "wan-campus"
[[wan.lan]]
name = "near"
network = "infiniband-qdr"
[[wan.lan.node]]
name = "g"
count = 2
cpu = "xeon-l5640"
[[wan.lan]]
name = "far"
network = "infiniband-sdr"
[[wan.lan.node]]
name = "k"
count = 2
cpu = "xeon-dp-2800"
"""


def test_every_component_can_have_a_model_of_its_own(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(TWO_LANS)
    of = {"k": "kask", "far": "kask", "wan": "galera"}

    def time_s(*labels):
        application = Application("", labels)
        setting = Setting(application, system_named(str(path)))
        return evaluate(application, setting.machine("galera+", components=of)).time_s

    # Table 3, T_min: 0.00165 us on g, 0.0033 us on k; a barrier is 1.4 + 7.5 log2 P us, -1.8 + 22.6, -1.2 + 20.6.
    assert time_s(Label("p", 4, (Compute(1e6),))) == pytest.approx(1650e-6)
    assert time_s(Label("p", 16, (Compute(1e6),))) == pytest.approx(3300e-6)
    assert time_s(Label("p", 12, (Barrier(),))) == pytest.approx(8.9e-6)  # both nodes of LAN near
    assert time_s(Label("p", 16, (Barrier(),))) == pytest.approx((-1.2 + 20.6 * 2) * 1e-6)  # all four
    others = Label("q", 4, (Barrier(among=("q",)),))
    assert time_s(Label("p", 12, ()), others) == pytest.approx((-1.8 + 22.6) * 1e-6)  # both nodes of LAN far


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--power", "active"], "--power active: no such rule"),
        (["--model", "galera+", "--p-counts", "cores"], "--p-counts cores: no such reading of P"),
        (["--p-counts", "nodes"], "--p-counts nodes: does not go with --model simgrid"),
        (
            ["--model", "galera+", "--component", "lam=kask"],
            "--component lam: system galera-plus has no",
        ),
        (["--model", "galera+", "--component", "lan"], "not of the form NAME=VALUE"),
        (["--model", "galera+", "--component", "lan=kask", "--component", "lan=galera"], "given twice"),
        (["--component", "lan=kask"], "--component lan: does not go with --model simgrid"),
    ],
)
def test_a_wrong_choice_is_one_line(tmp_path, capsys, more, words):
    (tmp_path / "b.toml").write_text(BROADCAST)
    assert main(["run", str(tmp_path / "b.toml"), "--system", GALERA_PLUS, *more]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and words in said


@pytest.mark.parametrize("model", ["hardware", "simgrid", "galera+"])
def test_hardware_threads_count_in_all_machines(tmp_path, model):
    # 24 processes on the 12 cores and 24 hardware threads of a node of Galera+: 0.00194 / 0.00165 times as long.
    path = tmp_path / "threads.toml"
    path.write_text(Path(GALERA_PLUS).read_text().replace('name = "galera"', 'name = "galera"\nslots = { p = 24 }'))
    times_s = []
    for processes in (12, 24):
        application = Application("", (Label("p", processes, (Compute(1e9),)),))
        times_s.append(evaluate(application, Setting(application, system_named(str(path))).machine(model)).time_s)
    assert times_s[1] / times_s[0] == pytest.approx(0.00194 / 0.00165)


@pytest.mark.parametrize("model", ["hardware", "simgrid", "galera+"])
def test_one_galera_plus_computes_and_takes_power_as_in_table_1(tmp_path, model):
    # Tables 1 and 3: T_min h = 1.65 ns x 11e6 = 18.15 ms, whatever the efficiency; T_low / T_min = 1.1758; with 25
    # threads (0.329 + 25 x 0.0796) / 1.65 = 1.4055.  78 + 12 x 4.84 = 136.08 W; with 13 threads 109 + 13 x 1.9 = 133.7,
    # which is less; with 18 threads 143.2; above 24 threads 151 W.
    path = tmp_path / "threads.toml"
    path.write_text(Path(GALERA_PLUS).read_text().replace('name = "galera"', 'name = "galera"\nslots = { p = 30 }'))
    times_s, watts = {}, {}
    for processes in (1, 12, 13, 18, 25):
        program = (Compute(5e6), Compute(6e6, efficiency=0.5))
        application = Application("", (Label("p", processes, program, efficiency=0.1),))
        setting = Setting(application, system_named(str(path)))
        result = evaluate(setting.application, setting.machine(model))
        times_s[processes], watts[processes] = result.time_s, result.energy_j / result.time_s
        assert "efficiencies of the application" in setting.cautions(model)[0]
    assert times_s[1] == pytest.approx(0.01815) == times_s[12]
    assert times_s[18] / times_s[1] == pytest.approx(0.00194 / 0.00165)
    assert times_s[25] / times_s[1] == pytest.approx(1.4055, abs=1e-4)
    assert [watts[n] for n in (1, 12, 13, 18, 25)] == pytest.approx([82.84, 136.08, 136.08, 143.2, 151])


def test_a_cluster_without_measured_times_is_computed_at_its_peak_with_a_caution():
    application = Application("", (Label("p", 1, (Compute(11e6),)),))
    setting = Setting(application, system_named("galera+"))
    assert evaluate(application, setting.machine("simgrid")).time_s == pytest.approx(11e6 / 9.08e9)
    assert "computes at the peak speed" in setting.cautions("simgrid")[0]
    assert Setting(application, system_named(GALERA_PLUS)).cautions("simgrid") == []


def test_the_success_of_placed_hardware_is_that_of_the_paper_s_lambda():
    application = Application("", (Label("p", 24, (Compute(1e14),)),))
    result = evaluate(application, Setting(application, system_named(GALERA_PLUS)).machine("hardware"))
    assert result.success == pytest.approx(exp(-5.03372e-10 * 2 * result.time_s), abs=1e-8)
