"""Applications evaluated message by message, against values by hand, and the choice of the evaluator."""

import pytest

from platforms.errors import UserError
from platforms.system.convert import system_named
from predictor.blocks import run_command
from predictor.blocks.application import Application
from predictor.blocks.evaluation import choice
from predictor.blocks.evaluation.evaluate import evaluate
from predictor.blocks.graph import evaluate as graph
from predictor.blocks.graph import events
from predictor.blocks.names import COHORTS, GRAPH
from predictor.blocks.programs import Compute, If, Label, ReadDisk, Receive, ReceiveAny, Repeat, Reply, Send
from predictor.blocks.setting import Setting
from predictor.dpgraph.known import DEFAULTS

SYSTEM = """
[lan]
network = "gigabit-ethernet"
[[lan.node]]
name = "n"
count = 4
cpu = "xeon-e5-1620"
disks = ["ssd-sata"]
slots = { a = 2, b = 1, p = 1, master = 1 }
"""


@pytest.fixture
def system(tmp_path):
    path = tmp_path / "system.toml"
    path.write_text(SYSTEM)
    return system_named(str(path))


def evaluated(application, system, **options):
    setting = Setting(application, system)
    return evaluate(application, setting.machine(), **options)


def factor(option, size_bytes):
    """Return SimGrid's factor for a size: that of the largest threshold below it."""
    pairs = [tuple(map(float, part.split(":"))) for part in DEFAULTS[option].split(";")]
    return max((above, one) for above, one in pairs if above < size_bytes)[1]


def one_way(size_bytes):
    """Return two processes of label a on the first node, which send to the labels b and p on other nodes."""
    sends = (Send("b", size_bytes, 1), Send("p", size_bytes, 1))
    return Application(
        "a",
        (
            Label("a", 2, (repeat_if("index == 0", sends[0]), repeat_if("index == 1", sends[1]))),
            Label("b", 2, (repeat_if("index == 1", Receive("a", 0)),)),
            Label("p", 2, (repeat_if("index == 1", Receive("a", 1)),)),
        ),
    )


def repeat_if(condition, step):
    return Repeat(f"1 if {condition} else 0", (step,))


def test_messages_of_different_labels_share_the_link_that_both_cross(system):
    size_bytes = 1_000_000
    group = system.groups[0]
    route = system.routes([(group.host(0), group.host(1))])[0]
    slowest_Bps = min(link.bandwidth_Bps for link in route.links)
    latency_s = route.latency_s * factor("smpi/lat-factor", size_bytes)
    # Both leave the first node at the same moment and arrive at the second: each gets half of the link all the time.
    moved_s = 2 * (size_bytes + 16) / (slowest_Bps * factor("smpi/bw-factor", size_bytes))
    found = evaluated(one_way(size_bytes), system)
    assert found.evaluator == GRAPH
    assert found.time_s == pytest.approx(latency_s + moved_s, rel=1e-6)
    # Cohorts of different labels do not slow one another.
    alone = evaluated(one_way(size_bytes), system, evaluator=COHORTS)
    assert alone.time_s == pytest.approx(latency_s + moved_s / 2, rel=1e-6)


def ring(turns, size_bytes=50_000, buffered=True):
    step = (
        Send("a", size_bytes, "(index + 1) % a", buffered),
        Receive("a", "(index - 1) % a"),
        Compute("1e6 * (1 + index)"),
    )
    return Application("ring", (Label("a", 8, (Compute(1e6), Repeat(turns, step), Compute("1e6 * index"))),))


def test_turns_that_are_not_evaluated_take_as_long_as_those_that_are(system, monkeypatch):
    few = evaluated(ring(500), system)
    assert "of 500 turns" in few.evaluated
    monkeypatch.setattr(events, "LEAST_TURNS", 10_000)  # no loop is one of iterations
    full = evaluated(ring(500), system)
    assert "turns" not in full.evaluated
    assert few.time_s == pytest.approx(full.time_s, rel=1e-3)  # as far as extrapolated turns may drift
    assert few.energy_j == pytest.approx(full.energy_j, rel=1e-3)


def farm(*operations):
    """Return a master that serves each of some workers once, whoever asks first."""
    workers = len(operations)
    choose = " ".join(f"{ops} if index == {i} else" for i, ops in enumerate(operations)) + " 0"
    return Application(
        "farm",
        (
            Label("master", 1, (Repeat(workers, (ReceiveAny("b"), Reply(100), Compute(1e10))),)),
            Label("b", workers, (Compute(choose), Send("master", 8), Receive("master"))),
        ),
    )


def test_a_receive_from_any_takes_the_message_that_was_sent_first(system):
    # The last worker asks first, and is served while the master has nothing else to do.  The first worker asks while
    # the master computes, and the second one last: the first has to wait for one computation, the second for the rest.
    found = evaluated(farm(4e9, 5e9, 1e9), system)
    speed = system.groups[0].unit.speed_flops
    workers = next(label for label in found.labels if label.label == "b")
    assert workers.first_s == pytest.approx(1e9 / speed, rel=0.02)
    assert workers.last_s == pytest.approx((1e9 + 2e10) / speed, rel=0.01)


def test_receives_from_any_process_of_a_label_leave_the_messages_of_others(system):
    served = (ReceiveAny("b"), Receive("a", 1), ReceiveAny(), Reply(8), ReceiveAny("a"))
    application = Application(
        "mixed",
        (
            Label("master", 1, served),
            Label("a", 3, (Compute("1e9 * index"), Send("master", 8), repeat_if("index == 0", Receive("master")))),
            Label("b", 1, (Compute(4e9), Send("master", 8))),
        ),
    )
    # All wait for b, which sends last.  Then come process 1 of a, by name, process 0, which has sent first, and 2.
    found = evaluated(application, system)
    ends_s = {label.label: (label.first_s, label.last_s) for label in found.labels}
    assert ends_s["a"][1] == pytest.approx(4e9 / system.groups[0].unit.speed_flops, rel=0.01)
    assert ends_s["b"][1] < ends_s["a"][0] < ends_s["a"][1]


def test_labels_without_processes_do_not_count_among_those_that_are_received_from(system):
    def took_s(*unused, sender="b"):
        served = (ReceiveAny(sender), Reply(8)) * 2
        worker = (Send("master", 8), Receive("master")) * 2
        labels = (
            *(Label(name, 0, (Compute(1),)) for name in unused),
            Label("master", 1, served),
            Label("b", 1, worker),
        )
        return evaluated(Application("x", labels), system).time_s

    assert took_s("a", "p") == took_s() > 0
    assert took_s("a", "p", sender="") == took_s()
    with pytest.raises(UserError, match="process 0 of master waits forever for a message"):
        took_s("a", "p", sender="a")


def test_the_choices_of_a_farm_take_one_evaluation_and_another_for_the_caution(system, monkeypatch):
    calls = []
    real = graph.execute
    monkeypatch.setattr(graph, "execute", lambda *given, **named: calls.append(1) or real(*given, **named))
    work = Compute("1e8 * (1 + (7 * index + 3 * turn) % 5)")  # workers overtake one another
    application = Application(
        "farm",
        (
            Label("master", 1, (Repeat(120, (ReceiveAny("b"), Compute(1e4), Reply(500))),)),
            Label("b", 4, (Repeat(30, (Send("master", 8), Receive("master"), work), "turn"),)),
        ),
    )
    found = evaluated(application, system)
    # The workers compute nearly all the time, 30 times 1 to 5 times 1e8 operations: six times each of them.
    assert found.time_s == pytest.approx(6 * 15e8 / system.groups[0].unit.speed_flops, rel=0.05)
    assert len(calls) == 2


def test_replies_are_received_from_any_process_and_answered(system):
    def messages(*programs):
        labels = zip(("a", "master"), programs, strict=True)
        return evaluated(Application("x", tuple(Label(name, 1, own) for name, own in labels)), system).time_s

    once_s = messages((Send("master", 8),), (ReceiveAny("a"),))
    there = (Send("master", 8), ReceiveAny("master"), Reply(8), ReceiveAny())
    back = (ReceiveAny("a"), Reply(8), ReceiveAny("a"), Reply(8))
    assert messages(there, back) == pytest.approx(4 * once_s, rel=1e-9)


def test_a_report_that_another_receive_may_take_is_an_error_with_its_step(system):
    # The first master takes the second one's report for the request of a worker, and a worker is left without reply.
    serve = (Repeat(2, (ReceiveAny("b"), Reply(8))),)
    first = (*serve, ReceiveAny("b"))
    program = (
        If("index == 0", first),
        If("index == 1", (Send("b", 8, 0),)),
        If("index > 1", (Compute("1e9 * index"), Send("b", 8, 0), Receive("b", 0))),
    )
    with pytest.raises(UserError, match="waits forever"):
        evaluated(Application("x", (Label("b", 4, program),)), system)


def test_a_disk_that_is_used_at_overlapping_times_is_shared(system):
    disk = system.groups[0].node.disks[0]
    late_s = 0.1
    late = Compute(late_s * system.groups[0].unit.speed_flops)
    application = Application("a", (Label("a", 1, (ReadDisk(1e8),)), Label("b", 1, (late, ReadDisk(1e8)))))
    found = {label.label: label.last_s for label in evaluated(application, system).labels}
    alone_s, half = 1e8 / disk.read_Bps, 0.5
    # One process has the disk for the first 0.1 s, both share it until the first has read all, then the other has it.
    together_s = (alone_s - late_s) / half
    assert found["a"] == pytest.approx(late_s + together_s + disk.read_latency_s, rel=1e-3)
    assert found["b"] == pytest.approx(2 * alone_s + disk.read_latency_s, rel=1e-3)


def test_the_cheapest_exact_evaluator_is_chosen(system, monkeypatch):
    served = (Label("master", 1, (Send("b", 8), Receive("b"))), Label("b", 4, (Receive("master"), Send("master", 8))))
    star = Application("star", served)
    assert evaluated(star, system).evaluator == COHORTS
    assert evaluated(star, system, evaluator=GRAPH).time_s == pytest.approx(evaluated(star, system).time_s, rel=1e-9)
    setting = Setting(ring(10), system)
    assert evaluate(setting.application, setting.machine("galera+")).evaluator == COHORTS
    assert evaluate(setting.application, setting.machine()).evaluator == GRAPH
    monkeypatch.setattr(choice, "MOST_EVENTS", 10)
    found = evaluated(ring(10), system)
    assert found.evaluator == COHORTS and "do not slow one another" in found.cautions[0]
    assert "cautions" not in run_command.result_text(found)
    assert "events are more than 10" in found.evaluated


@pytest.mark.parametrize(
    ("model", "evaluator", "words"),
    [
        ("simgrid", "heap", "--evaluator heap: no such evaluator. Known: graph, cohorts"),
        ("galera+", "graph", "--evaluator graph: model galera+ gives the times of whole blocks"),
    ],
)
def test_an_evaluator_that_does_not_fit_is_refused(system, model, evaluator, words):
    setting = Setting(ring(10), system)
    with pytest.raises(UserError) as caught:
        evaluate(setting.application, setting.machine(model), evaluator=evaluator)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (
            (Label("a", 2, (Send("b", 8, 0, True),)), Label("b", 1, (Receive("a", 0),))),
            "label a, step 1: process 1 of a sends a message that process 0 of b never receives. Add the receive",
        ),
        (
            (Label("a", 2, ()), Label("master", 1, (ReceiveAny("a"),))),
            "label master, step 1: process 0 of master waits forever for a message",
        ),
        (
            (Label("a", 2, (ReceiveAny("b"),)), Label("b", 1, (Send("a", 8, 0),))),
            "label a, step 1: process 1 of a waits forever for a message",
        ),
        (
            (Label("a", 2, (ReceiveAny("a"),)), Label("b", 1, (Reply(8),))),
            "label b, step 1: process 0 of b replies before it has received",
        ),
    ],
)
def test_a_message_that_nobody_sends_or_receives_is_refused_with_its_step(system, labels, words):
    with pytest.raises(UserError) as caught:
        evaluated(Application("x", labels), system)
    assert words in str(caught.value)


@pytest.mark.parametrize(("work", "said"), [("1 + 2 * index", True), ("2", False)])
def test_where_rounding_decides_who_is_served_first_a_caution_says_what_it_changes(work, said):
    # Two workers ask at one date; a service takes a second of the master, then they compute 1 and 3 s.  In the order of
    # the workers: 1, then 1 + 1 + 3 = 5 s; the other way round 1 + 3 = 4 s, and 1 + 1 + 1 = 3 s.
    speed = system_named("examples/blocks/cluster.toml").groups[0].unit.speed_flops
    master = Label("master", 1, (Repeat(2, (ReceiveAny("worker"), Compute(speed), Reply(8))),))
    task = Compute(f"({work}) * {speed}")
    worker = Label("worker", 2, (Send("master", 8, at=0), Receive("master", at=0), task))
    application = Application("farm", (master, worker))
    found = evaluate(application, Setting(application, system_named("examples/blocks/cluster.toml")).machine())
    assert found.time_s == pytest.approx(5 if said else 4, rel=1e-3)
    if not said:
        assert found.cautions == ()
    else:
        (caution,) = found.cautions
        assert "rounding decides" in caution and "in another order the run takes -20 %" in caution
