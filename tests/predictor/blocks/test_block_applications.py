"""Applications of blocks: their descriptions, and their times and energies on systems."""

import json
from pathlib import Path

import pytest

from platforms.errors import UserError
from platforms.system.convert import system_named
from predictor.blocks.application import Application
from predictor.blocks.description import read_application
from predictor.blocks.evaluation.evaluate import evaluate
from predictor.blocks.programs import Compute, If, Label, Receive, Repeat, Send
from predictor.blocks.setting import Setting
from tests.counting import lines_run
from tests.verbs import blocks as main

EXAMPLES = Path(__file__).parents[3] / "examples" / "blocks"
MASTER_SLAVE, DIVIDE = EXAMPLES / "master-slave.toml", EXAMPLES / "divide-and-conquer.toml"


def test_the_same_application_in_python_and_in_toml():
    rounds = (
        (Send("slave1", "task_bytes"), Receive("slave1"), Compute("merge * slave1")),
        (Receive("master"), Compute("operations"), Send("master", "result_bytes")),
    )
    variables = {
        "rounds": 4, "task_bytes": 65536, "result_bytes": 4096, "operations": 2e10, "merge": "50 * result_bytes",
    }  # fmt: skip
    labels = (
        Label("master", 1, (Repeat("rounds", rounds[0]),)),
        Label("slave1", 12800, (Repeat("rounds", rounds[1]),)),
    )
    read = read_application(MASTER_SLAVE)
    assert read.labels == labels
    assert read.numbers() == Application("master-slave", labels, variables).numbers()


def test_counts_and_variables_can_be_changed_and_depend_on_each_other():
    application = read_application(DIVIDE).changed(variables={"levels": "3 + 1"})
    assert application.counts() == {"worker": 16}
    assert application.changed(counts={"worker": "2 * levels"}).counts() == {"worker": 8}


VARIED = {
    "n": 4, "size": "8 * n", "own": "index + n", "list": [1, "n"], "side": 2,
}  # fmt: skip


def varied(variables, count=4):
    """An application whose programs use variables in every way."""
    program = (
        Repeat("n", (Compute("cost(own) + list[index % 2] + size"),)),
        Send("x", "size", at="neighbour(0, 1)"), Receive("x", at="neighbour(0, -1)"),
    )  # fmt: skip
    labels = (Label("x", None, program, grid=("side", 2), periodic=(True, True)), Label("y", count, program[:1]))
    return Application("varied", labels, {**VARIED, **variables}, functions={"cost(k)": "k * n"})


@pytest.mark.parametrize(
    "variables", [{"n": 7}, {"n": "2.5"}, {"size": "n + 1"}, {"own": 3}, {"own": "index * n"}, {"list": "[5, n, n]"},
                  {"side": 3}, {"side": "n"}, {"n": "index"}, {"n": "size"}, {"n": "1 / 0"}, {"size": "unknown"},
                  {"n": "2 +"}],
)  # fmt: skip
@pytest.mark.parametrize("count", [4, 9, "n", 1.5])
def test_a_changed_application_is_the_one_that_is_described_so(variables, count):
    def outcome(make):
        try:
            made = make()
        except UserError as err:
            return str(err)
        return made, made.given, made.variables, made.functions, made.numbers(), made.counts()

    wanted = outcome(lambda: varied(variables, count))
    assert outcome(lambda: varied({}).changed(counts={"y": count}, variables=variables)) == wanted
    near = {"n": 5, **dict.fromkeys(variables, 6)} if "list" not in variables else {"list": [6]}
    twice = varied({}).changed(counts={"y": 6}, variables=near)
    again = {"n": VARIED["n"], **variables}
    assert outcome(lambda: twice.changed(counts={"y": count}, variables=again)) == wanted


def test_programs_are_not_checked_again_for_other_numbers(monkeypatch):
    known = varied({})
    monkeypatch.setattr("predictor.blocks.application.check_labels", None)
    changed = known.changed(counts={"y": 12}, variables={"n": 3, "size": "5 * n"})
    assert changed.counts() == {"x": 4, "y": 12} and changed.numbers()["size"] == 15
    with pytest.raises(TypeError):
        known.changed(variables={"own": 3})  # the programs contain its definition


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no [labels.NAME]"),
        ("[labels.x]\ncount = 1", "label x: 'program' is missing"),
        ("[labels.x]\ncount = 1\nprogram = 3", "label x, step: not a list of steps"),
        ("[labels.x]\ncount = true\nprogram = []", "label x: count = true is not a number"),
        ("[labels.x]\ncount = 1\nprogram = [{ compute = true }]", "step 1: compute = true is not a number"),
        ("[variables]\ny = false\n[labels.x]\ncount = 1\nprogram = []", "variable y: y = false is not a number"),
        ("[labels.x]\ncount = 1.5\nprogram = []", "label x, count, expression '1.5': 1.5 is not a whole number"),
        ("[labels.x]\ncount = 'y'\nprogram = []", "label x, count, expression 'y': no name 'y'"),
        ("[labels.x]\ncount = 1\nprogram = [{}]", "label x, step 1: no kind of step"),
        ("[labels.x]\ncount = 1\nprogram = [{ compute = 1, barrier = true }]", "both compute and barrier"),
        ("[labels.x]\ncount = 1\nprogram = [{ compute = 1, bytes = 3 }]", "compute has no key 'bytes'"),
        ("[labels.x]\ncount = 1\nprogram = [{ send_to = 'x' }]", "send_to without 'bytes'"),
        ("[labels.x]\ncount = 1\nprogram = [{ receive_from = 'y' }]", "label x, step 1: no label 'y'"),
        ("[labels.x]\ncount = 1\nprogram = [{ repeat = 2, do = [{ compute = 'n' }] }]", "step 1.1, expression 'n'"),
        ("[labels.x]\ncount = 1\nprogram = [{ if = 1, then = [], else = [{ compute = '' }] }]", "step 1.else.1"),
        ("[labels.x]\ncount = 1\nprogram = [{ repeat = 2, as = 'x', do = [] }]", "'x' cannot be a loop's variable"),
        ("[labels.index]\ncount = 1\nprogram = []", "'index' cannot be a name"),
        ("[variables]\nx = 1\n[labels.x]\ncount = 1\nprogram = []", "the name 'x' is given twice"),
        ("[variables]\na = 'b'\nb = 'a'\n[labels.x]\ncount = 1\nprogram = []", "defined in terms of itself: a, b, a"),
        ("[labels.x]\ncount = 1\nprogram = [{ barrier = ['y'] }]", "no label 'y'"),
        ("[labels.x]\ncount = 1\nprogram = [{ barrier = 3 }]", "is not a list of labels"),
        ("[labels]\nx = 3", "label x: not a table"),
        ("variables = 3\n[labels.x]\ncount = 1\nprogram = []", "variables is not a table"),
        ("[labels.x]\ncount = 1\nprogram = []\ncolour = 1", "label x: unknown key 'colour'"),
        ("[labels.x]\ncount = 1\nprogram = [3]", "label x, step 1: 3 is not a step"),
        ("[labels.x]\ncount = 1\nprogram = [{ send_to = 3, bytes = 1 }]", "send_to = 3 is not a name"),
        ("[[labels]]\ncount = 1", "no [labels.NAME]"),
        ("[labels", "not TOML"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_file_is_said_with_its_place(tmp_path, text, words):
    path = tmp_path / "app.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=r"app\.toml") as caught:
        read_application(path)
    assert words in str(caught.value)


def two_labels(bytes_=125_000):
    """A task of 1e9 operations for each slave; the result is empty."""
    return Application(
        "two",
        (
            Label("master", 1, (Send("slave", bytes_), Receive("slave"))),
            Label("slave", 4, (Receive("master"), Compute(1e9), Send("master", 0))),
        ),
    )


def test_time_energy_and_success_by_hand(system):
    # Two processes per node: node 0 has the master and slave 0, node 1 slaves 1 and 2, node 2 slave 3.  A message of
    # 125,000 bytes takes 100 us + 1 ms; a message within node 0 crosses its link out and in and takes the same time.
    # Slave 3 starts at 4.4 ms and computes 1 s.  Before that the master has received the results of the others, which
    # arrived 1.1 ms apart and took 0.1 ms each.
    setting = Setting(two_labels(), system(3, 2), failure_rate_per_s=1e-3)
    result = evaluate(setting.application, setting.machine("hardware"))
    time_s = 4 * 1.1e-3 + 1 + 1e-4
    assert result.time_s == pytest.approx(time_s)
    assert [(label.label, label.processes, label.units) for label in result.labels] == [
        ("master", 1, 1),
        ("slave", 4, 3),
    ]
    assert result.labels[1].first_s == pytest.approx(1.1e-3 + 1 + 1e-4)
    assert result.nodes == 3
    # Each node takes 10 W when idle.  A slave that computes for a second takes 20 W on one of two cores, which is 10 W
    # more, also on node 2, which has only one process.  The master has half of node 0's idle power.
    assert result.energy_j == pytest.approx(3 * 10 * time_s + 4 * 10 * 1)
    assert result.labels[0].energy_j == pytest.approx(5 * time_s)
    assert result.labels[1].energy_j == pytest.approx(25 * time_s + 40)
    assert result.success == pytest.approx(1 - 1e-3 * 3 * time_s, rel=1e-4)


def test_more_processes_than_cores_share_them(system):
    setting = Setting(Application("", (Label("p", 4, (Compute(1e9),)),)), system(1, 4))
    result = evaluate(setting.application, setting.machine("hardware"))
    assert result.time_s == pytest.approx(2.0)
    assert result.energy_j == pytest.approx(2 * 30)


def test_messages_at_the_same_moment_share_the_links_of_their_nodes(system):
    # Four processes on each of two nodes, each sends 125,000 bytes to its partner on the other: 4 ms and 0.1 ms.
    pairs = Application(
        "",
        (
            Label("here", 4, (Send("there", 125_000, "index"),)),
            Label("there", 4, (Receive("here", "index"),)),
        ),
    )
    setting = Setting(pairs, system(2, 4))
    assert evaluate(pairs, setting.machine("hardware")).time_s == pytest.approx(4.1e-3)


def test_processes_with_other_instructions_share_the_links_too(system):
    # As above, but process 0 has computed something before.
    first = If("index == 0", (Compute(0),))
    pairs = Application(
        "",
        (
            Label("here", 4, (first, Send("there", 125_000, "index"))),
            Label("there", 4, (Receive("here", "index"),)),
        ),
    )
    machine = Setting(pairs, system(2, 4)).machine("hardware")
    assert evaluate(pairs, machine, evaluator="cohorts").time_s == pytest.approx(4.1e-3)


def test_cohorts_of_divide_and_conquer_share_the_links_of_full_nodes(tmp_path):
    # 64 processes, 4 on each of 16 nodes: all messages of a level begin at the same moment, as in the graph.
    path = tmp_path / "full.toml"
    lan = '[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\nname = "n"\ncount = 16\ncpu = "core-i7-2600k"\n'
    path.write_text(f"{lan}slots = {{ worker = 4 }}\n")
    application = read_application(DIVIDE).changed(variables={"levels": 6})
    machine = Setting(application, system_named(str(path))).machine("hardware")
    found = [evaluate(application, machine, evaluator=evaluator).time_s for evaluator in ("cohorts", "graph")]
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def test_a_published_model_gives_its_formulas():
    # Galera+, Table 3: 3.7 us + 0.00063 us/B for whole units of 2048 bytes; 0.00165 us for an operation; lambda.
    application = two_labels(2048).changed(counts={"slave": 1})
    setting = Setting(application, system_named("grid4x8"))
    result = evaluate(application, setting.machine("galera+"))
    time_s = (3.7 + 0.00063 * 2048 + 0.00165 * 1e9 + 3.7) * 1e-6
    assert result.time_s == pytest.approx(time_s)
    # Idle 78 W, 4.84 W for the slave's thread while it computes.
    assert result.energy_j == pytest.approx(2 * 78 * time_s + 4.84 * 1.65)
    assert result.success == pytest.approx(1 - 5.03372e-10 * 2 * time_s, abs=1e-15)


def test_a_model_without_power_says_so():
    application = two_labels().changed(counts={"slave": 1})
    result = evaluate(application, Setting(application, system_named("grid4x8")).machine("galera"))
    assert result.energy_j is None and result.success is None
    assert any("power" in reason for reason in result.unknown)


def test_many_slaves_are_evaluated_at_once(system):
    def evaluated(slaves):
        machine_room = system(12_800, -(-slaves // 12_800) + 1)
        application = read_application(MASTER_SLAVE).changed(counts={"slave1": slaves})
        return evaluate(application, Setting(application, machine_room).machine("hardware"))

    evaluated(100)  # loads what the first evaluation needs
    lines = {}
    for slaves in (100, 12_800, 10_000_000):
        result, lines[slaves] = lines_run(lambda slaves=slaves: evaluated(slaves))
        assert result.labels[1].processes == slaves
    assert max(lines.values()) < 1.5 * lines[100]


def test_the_total_of_figure_2_is_the_sum_of_its_parts_once_the_master_is_in_joules():
    # Proficz and Czarnul, figure 2: 26.144715 s overall, the slaves end at 13.208545 s.
    master, slave1, total_wh = 679.766357520914, 892.3106924881491, 892.499166666666
    assert slave1 + master / 3600 == pytest.approx(total_wh, rel=5e-7)
    # Both are a fifth of a processor's thermal design power (Intel: E5-1620 130 W, i7-2600K 95 W) for each process.
    assert master == pytest.approx(130 / 5 * 26.144715, rel=1e-5)
    assert slave1 * 3600 == pytest.approx(12_800 * 95 / 5 * 13.208545, rel=2e-7)


def test_the_command_prints_times_and_watt_hours(capsys):
    arguments = ["run", str(MASTER_SLAVE), "--system", "grid4x8", "--count", "slave1=31", "--set", "rounds=2"]
    assert main([*arguments, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [label["processes"] for label in said["labels"]] == [1, 31]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert f"overall time {said['time_s']:.7g} s" in text
    assert f"total energy {said['energy_j'] / 3600:.6g} Wh" in text


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ((), "12800 processes, but 31"),
        (("--count", "slave=3"), "no label 'slave'"),
        (("--count", "slave1"), "not of the form NAME=VALUE"),
        (("--set", "round=3"), "no variable 'round'"),
        (("--count", "slave1=3", "--model", "galera++"), "no such model"),
        (
            ("--count", "slave1=3", "--model", "foo"),
            "Known: simgrid, hardware, galera+, galera, kask, or a",
        ),
        (("--count", "slave1=3", "--shapes", "paper"), "does not go with --model simgrid"),
        (("--count", "slave1=3", "--failure-rate", "-1"), "not a rate"),
        (("--count", "slave1=3", "--policy", "best"), "no such policy"),
    ],
)
def test_bad_input_is_one_line(capsys, more, words):
    assert main(["run", str(MASTER_SLAVE), "--system", "grid4x8", *more]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and words in said


# --- models of whole nodes ---

TWO_UNITS = """
bus = "pcie3-x16"
[[lan.node.unit]]
name = "a"
cpu = "xeon-e5-2670"
[[lan.node.unit]]
name = "b"
cpu = "xeon-e5-2670"
"""


def two_sockets(tmp_path, nodes, processors):
    """Nodes with two processors of 8 cores, which the text ``processors`` describes."""
    path = tmp_path / "sockets.toml"
    path.write_text(f'[lan]\nnetwork = "gigabit-ethernet"\n[[lan.node]]\nname = "n"\ncount = {nodes}\n{processors}')
    return system_named(str(path))


def test_a_model_of_nodes_counts_a_node_of_several_units_once(tmp_path):
    # Table 3, galera+: 78 W and 4.84 W for each of four threads; 1e9 operations of 0.00165 us.
    application = Application("", (Label("p", 4, (Compute(1e9),)),))
    for policy in ("fastest", "round-robin"):
        result = evaluate(
            application, Setting(application, two_sockets(tmp_path, 1, TWO_UNITS), policy).machine("galera+")
        )
        assert result.time_s == pytest.approx(1.65)
        assert result.energy_j == pytest.approx((78 + 4 * 4.84) * 1.65)


def test_a_model_of_nodes_sees_no_difference_between_two_units_and_two_sockets(tmp_path):
    # The second label leaves one unit of node 1 with other processes than that of node 0.
    application = Application("", (Label("p", 27, (Compute(1e9),)), Label("q", 3, (Compute(5e8),))))
    found = []
    for processors in (TWO_UNITS, 'cpu = "xeon-e5-2670"\nsockets = 2'):
        setting = Setting(application, two_sockets(tmp_path, 2, processors))
        found.append(evaluate(application, setting.machine("galera+")))
    # 16 threads on node 0: beyond P_low = 12 a thread is slower (Table 1, row 1) than its 1.65 s.
    assert found[0].time_s == found[1].time_s > 1.65
    assert found[0].energy_j == pytest.approx(found[1].energy_j, rel=1e-12)
    assert found[0].nodes == 2


def test_a_calibration_used_elsewhere_is_said(tmp_path, capsys):
    made = tmp_path / "c.json"
    calibrate = ["calibrate", "--scenario", "grid4x8", "--only", "c1", "--out", str(made)]
    assert main(calibrate) == 0
    capsys.readouterr()
    arguments = ["run", str(MASTER_SLAVE), "--system", "grid4x8", "--count", "slave1=3", "--model", str(made)]
    assert main(arguments) == 0
    # The fastest cluster is c4.
    assert capsys.readouterr().err.count("caution: ") == 1
    setting = Setting(read_application(MASTER_SLAVE).changed(counts={"slave1": 3}), system_named("grid4x8"))
    assert setting.cautions(str(made)) == ["c4: not among the calibrated clusters c1; computes as c1"]
    assert setting.cautions("simgrid") == setting.cautions("galera+") == []
    elsewhere = Setting(setting.application, system_named(str(EXAMPLES.parent / "systems" / "merpsys.toml")))
    other = "was calibrated on platform grid4x8, not on merpsys in its present form"
    assert elsewhere.cautions(str(made))[0].endswith(other)
