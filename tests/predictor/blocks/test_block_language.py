"""The language of applications: named steps, variables per process, grids, variates, requests."""

import math
import re
import statistics
import tomllib
from pathlib import Path

import pytest

from platforms.errors import UserError
from platforms.system.convert import system_named
from predictor.blocks import expansion
from predictor.blocks.application import Application
from predictor.blocks.description import read_application
from predictor.blocks.evaluation.evaluate import evaluate
from predictor.blocks.expressions import Expression, grid_functions
from predictor.blocks.parsing import NOBODY
from predictor.blocks.programs import Call, Compute, Label, NamedSteps, Receive, Repeat, Send, While
from predictor.blocks.setting import Setting
from predictor.blocks.steps import check_constants
from predictor.blocks.stream.expand import expand
from predictor.blocks.stream.instructions import Loop, executed


def described(tmp_path, text):
    path = tmp_path / "app.toml"
    path.write_text(text)
    return read_application(path)


def operations(application):
    """Return the operations of all computations of each process, in their order."""
    stream = expand(application)

    def of(program):
        for one in program:
            if isinstance(one, Loop):
                yield from list(of(one.body)) * one.times
            else:
                yield one.operations

    return [list(of(stream.programs[number])) for number in stream.program_of]


def partners(application):
    """Return the processes to which each process sends."""
    stream = expand(application)
    return [
        [one.first for one, _ in executed(stream.programs[n]) if type(one).__name__ == "Send"]
        for n in stream.program_of
    ]


def test_variables_with_index_have_a_value_for_each_process_and_may_use_each_other():
    application = Application(
        "",
        (Label("p", "parts", (Compute("twice"),)),),
        {"n": 10, "parts": 4, "own": "part(n, parts, index)", "twice": "2 * own"},
    )
    assert operations(application) == [[6], [6], [4], [4]]  # 10 = 3 + 3 + 2 + 2
    assert application.numbers() == {"n": 10, "parts": 4, "p": 4}
    assert operations(application.changed(variables={"n": 4})) == [[2]] * 4


def test_a_count_or_a_grid_cannot_differ_by_process():
    for label in (Label("p", "x", ()), Label("p", None, (), ("x",))):
        with pytest.raises(UserError, match="variable x differs by process"):
            Application("", (label,), {"x": "index + 1"})


def test_named_steps_get_the_values_of_their_call():
    work = NamedSteps("work", ("flops", "times"), (Repeat("times", (Compute("flops * scale"),)),))
    outer = NamedSteps("outer", ("m",), (Call("work", {"flops": "m + index", "times": 1}),))
    program = (Call("work", {"flops": 3, "times": "index"}), Repeat(2, (Call("outer", {"m": "k"}),), "k"))
    application = Application("", (Label("p", 2, program),), {"scale": 10}, steps=(work, outer))
    assert operations(application) == [[0, 10], [30, 10, 20]]


def test_loops_of_named_steps_do_not_capture_the_variables_of_their_caller():
    # The inner loop runs over k = 0, 1, 2 while `a` stays the caller's turn.
    inner = NamedSteps("inner", ("a",), (Repeat(3, (Compute("10 * a + k"),), "k"),))
    application = Application("", (Label("p", 1, (Repeat(2, (Call("inner", {"a": "k"}),), "k"),)),), steps=(inner,))
    assert operations(application) == [[0, 1, 2, 10, 11, 12]]


@pytest.mark.parametrize(
    ("periodic", "expected"),
    [
        # 3 x 2 processes, x + 3 y: to the right, and down.
        ((False, False), [[1, 3], [2, 4], [5], [4], [5], []]),
        ((True, False), [[1, 3], [2, 4], [0, 5], [4], [5], [3]]),
        ((True, True), [[1, 3], [2, 4], [0, 5], [4, 0], [5, 1], [3, 2]]),
    ],
)
def test_neighbours_in_a_grid(periodic, expected):
    sends = (Send("p", 1, "neighbour(1, 0)", True), Send("p", 1, "neighbour(0, 1)", True))
    receives = (Receive("p", "neighbour(-1, 0)"), Receive("p", "neighbour(0, -1)"))
    application = Application("", (Label("p", None, (*sends, *receives), ("px", 2), periodic),), {"px": 3})
    assert application.counts() == {"p": 6}
    assert partners(application) == expected


def test_neighbours_and_coordinates_agree_with_their_definition_in_three_dimensions():
    extents = (3, 4, 2)
    functions = grid_functions([Expression.of(one) for one in extents], (False, True, False))
    places = [Expression.of(f"coordinate({axis})").defined(functions) for axis in range(3)]
    for index in range(24):
        x, y, z = (place.value({"index": index}, "") for place in places)
        assert index == x + 3 * (y + 4 * z)
        for dx, dy, dz in ((1, 0, 0), (-1, 2, 0), (0, -1, 1), (0, 0, -1)):
            there = Expression.of(f"neighbour({dx}, {dy}, {dz})").defined(functions).value({"index": index}, "")
            inside = 0 <= x + dx < 3 and 0 <= z + dz < 2
            assert there == (x + dx + 3 * ((y + dy) % 4 + 4 * (z + dz)) if inside else NOBODY)


def test_random_variates_have_their_distributions_and_depend_only_on_seed_and_keys():
    def values(text, seed):
        return [Expression.of(text).value({"seed": seed, "index": index}, "") for index in range(20_000)]

    uniform, normal, exponential = (values(f"{name}(index)", 1) for name in ("random", "normal", "exponential"))
    # Means and standard deviations of the distributions; 5 standard errors of 20,000 values are 0.035 of them.
    for found, mean, deviation in ((uniform, 0.5, 1 / math.sqrt(12)), (normal, 0, 1), (exponential, 1, 1)):
        assert statistics.fmean(found) == pytest.approx(mean, abs=0.036 * deviation)
        assert statistics.pstdev(found) == pytest.approx(deviation, rel=0.04)
    assert min(uniform) > 0
    assert max(uniform) < 1
    assert values("random(index)", 1) == uniform
    assert values("random(index + 0.0)", 1) == uniform
    assert values("random(index)", 2)[:3] != uniform[:3]
    assert values("random(index, 1)", 1)[:3] != uniform[:3]


def test_functions_and_lists_have_the_values_of_their_definitions(tmp_path):
    application = described(
        tmp_path,
        """
[variables]
n = 10
cost = [3, "n", "index * 100", "square(n)"]
total = "sum(k * 5 for k in range(3))"
all = "sum(cost) - max(cost) - min(cost)"
[functions]
"square(x)" = "x ** 2"
"upto(k)" = "sum(square(j) + k for j in range(k + 1))"
"mine(x)" = "x + index"
[steps.work]
parameters = ["k"]
do = [{ compute = "mine(upto(k))" }]
[labels.p]
count = "len(cost)"
program = [
  { compute = "cost[index]" }, { compute = "total" }, { compute = "all" },
  { repeat = 2, as = "k", do = [{ call = "work", k = "k + 1" }, { compute = "cost[k]" }] },
]
""",
    )
    # 0 + 5 + 10; all but the least and the greatest of 3, 10, 100 index and 100; upto(1) = 0 + 1 + 2 * 1,
    # upto(2) = 0 + 1 + 4 + 3 * 2
    assert operations(application) == [
        [own, 15, rest, 3 + i, 3, 11 + i, 10]
        for i, (own, rest) in enumerate(((3, 13), (10, 110), (200, 110), (100, 110)))
    ]  # fmt: skip
    # A shorter list, as --set gives it: fewer processes.
    changed = application.changed(variables={"cost": "[7, '8 * n']"})
    assert operations(changed) == [[7, 15, 0, 3, 7, 11, 80], [80, 15, 0, 4, 7, 12, 80]]


def test_whether_a_send_waits_may_depend_on_its_size(tmp_path):
    text = """
{}[steps.give]
parameters = ["size"]
do = [{{ send_to = "q", bytes = "2 * size", buffered = "bytes < 65536" }}]
[labels.p]
count = 1
program = [
  {{ call = "give", size = 40000 }}, {{ repeat = 2, as = "k", do = [{{ call = "give", size = "40000 * k" }}] }},
]
[labels.q]
count = 1
program = [{{ repeat = 3, do = [{{ receive_from = "p" }}] }}]
"""

    def waits(variables):
        stream = expand(described(tmp_path, text.format(variables)))
        return [(one.size_bytes, one.waits) for one, _ in executed(stream.programs[0])]

    assert waits("") == [(80000, True), (0, False), (80000, True)]
    # a variable of that name
    assert waits("[variables]\nbytes = 1\n") == [(80000, False), (0, False), (80000, False)]


@pytest.mark.parametrize("made", ["a{} = 'a{} + index'", "'a{}(x)' = 'sum(a{}(x + k) for k in range(1))'"])
def test_definitions_may_use_each_other_fifty_times_and_not_more(tmp_path, made):
    table, call, first = ("functions", "(1)", "'a0(x)' = 'x'") if "x" in made[:8] else ("variables", "", "a0 = 'index'")

    def chain(length, order=1):
        lines = [first, *(made.format(i, i - 1) for i in range(1, length))][::order]
        program = f"[labels.p]\ncount = 2\nprogram = [{{ compute = 'a{length - 1}{call}' }}]"
        return "\n".join([f"[{table}]", *lines, program])

    # 50 times the index, or 1
    assert operations(described(tmp_path, chain(50))) == ([[1], [1]] if call else [[0], [50]])
    for text in (chain(51), chain(51, -1), chain(3000, -1)):
        with pytest.raises(UserError, match="it needs more than 50 others in a row"):
            described(tmp_path, text)


def test_neighbours_may_be_chosen_by_a_function(tmp_path):
    text = "{labels}\n[functions]\n'beyond(k)' = 'neighbour(k, 0)'"
    program = (
        "[{ send_to = 'p', at = 'beyond(1)', bytes = 8, buffered = true }, { receive_from = 'p', at = 'beyond(-1)' }]"
    )
    application = described(tmp_path, text.format(labels=f"[labels.p]\ngrid = [2, 2]\nprogram = {program}"))
    assert partners(application) == [[1], [], [3], []]


def test_a_while_loop_ends_with_its_condition_or_its_bound():
    # 0.5^k > 0.1 holds for k = 0 to 3.
    steps = (While("0.5 ** k > limit", "most", (Compute("k"),), "k"),)
    application = Application("", (Label("p", 1, steps),), {"limit": 0.1, "most": 100})
    assert operations(application) == [[0, 1, 2, 3]]
    assert operations(application.changed(variables={"most": 2})) == [[0, 1]]
    assert operations(application.changed(variables={"limit": 2})) == [[]]


def test_a_while_loop_with_a_random_condition_has_a_geometric_number_of_turns():
    steps = (While("random(index, k) < 0.75", 1000, (Compute(1),), "k"),)
    turns = [len(one) for one in operations(Application("", (Label("p", 4000, steps),), {"seed": 5}))]
    assert statistics.fmean(turns) == pytest.approx(3, abs=5 * math.sqrt(12 / 4000))  # q / (1 - q), variance 12


def test_an_efficiency_divides_the_operations():
    program = (Compute(10), Compute("size", "8"), Compute(10, efficiency="1 / (1 + index)"))
    application = Application("", (Label("p", 2, program, efficiency=0.5), Label("q", 1, (Compute(10),))))
    assert operations(application) == [[20, 16, 10], [20, 16, 20], [10]]
    with pytest.raises(UserError, match=r"label p, step 1.*an efficiency of 2"):
        operations(Application("", (Label("p", 1, (Compute(1),), efficiency=2),)))


def test_cohorts_and_single_processes_have_the_same_times_with_variables_per_process():
    # Half of 1e9 operations on each of 4 processes, at half the speed of 1e9: 0.5 s; process 0 has 1 more.
    application = Application(
        "",
        (Label("p", 4, (Compute("own"),), efficiency=0.5),),
        {"own": "part(2 * 10 ** 9, 8, index) + (index == 0)"},
    )
    setting = Setting(application, system_named("grid4x8"))
    machine = setting.machine("hardware")
    speed = setting.system.groups[0].unit.speed_flops
    fastest = max(group.unit.speed_flops for group in setting.system.groups)
    assert evaluate(application, machine).time_s in (
        pytest.approx(2 * (250_000_001) / speed), pytest.approx(2 * 250_000_001 / fastest),
    )  # fmt: skip


def test_efficiencies_by_processor_are_those_of_each_process(tmp_path):
    # Four cores each: 3 processes on the E5-1620 (3.6 GHz x 8) at 0.5, or on the i7-2600K (3.4 GHz x 8) at 0.1.
    (tmp_path / "two.toml").write_text(
        '[lan]\nnetwork = "gigabit-ethernet"\n'
        '[[lan.node]]\nname = "a"\ncpu = "xeon-e5-1620"\nslots = { "*" = 2 }\n'
        '[[lan.node]]\nname = "b"\ncpu = "core-i7-2600k"\n'
    )
    system = system_named(str(tmp_path / "two.toml"))
    speeds = {group.unit.processor: group.unit.speed_flops for group in system.groups}
    text = "[labels.p]\ncount = {}\nefficiency = {{ xeon-e5-1620 = 0.5, core-i7-2600k = 0.1 }}\n"
    few = described(tmp_path, text.format(2) + "program = [{ compute = 1e9 }]")
    setting = Setting(few, system)
    assert operations(setting.application) == [[2e9], [2e9]]
    more = Setting(setting.application.changed(counts={"p": 4}), system)
    assert sorted(operations(more.application)) == [[2e9], [2e9], [1e10], [1e10]]
    for model in ("hardware", "simgrid"):
        time_s = evaluate(more.application, more.machine(model)).time_s
        assert time_s == pytest.approx(1e10 / speeds["core-i7-2600k"])
    with pytest.raises(UserError, match="efficiencies by processor without a system"):
        operations(few)
    with pytest.raises(UserError, match=r"label p, efficiency: no value for processor 'core-i7-2600k'"):
        Setting(described(tmp_path, text.format(4).replace("i7-2600k", "i7") + "program = []"), system)


HEAD = "[labels.p]\ncount = 2\nprogram = "
GRID = "[labels.p]\ngrid = [2, 2]\nprogram = "


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + "[{ call = 'x' }]", "label p, step 1: no steps 'x'. Add [steps.x]"),
        (HEAD + "[{ call = 'x' }]\n[steps.y]\ndo = []", "no steps 'x'"),
        (HEAD + "[{ call = 'x', a = 1 }]\n[steps.x]\ndo = []", "steps x have no parameter 'a'"),
        (HEAD + "[{ call = 'x' }]\n[steps.x]\nparameters = ['a']\ndo = []", "step 1: steps x without 'a'"),
        (HEAD + "[]\n[steps.x]\ndo = [{ call = 'y' }]\n[steps.y]\ndo = [{ call = 'x' }]", "call themselves: x, y, x"),
        (HEAD + "[]\n[steps.x]\ndo = [{ compute = 'a' }]", "steps x, step 1, expression 'a': no name 'a'"),
        (HEAD + "[]\n[steps.x]\nparameters = ['p']\ndo = []", "the name 'p' is given twice"),
        (HEAD + "[]\n[steps.x]\nparameters = ['call']\ndo = []", "'call' cannot be a parameter"),
        (HEAD + "[]\n[steps]\nx = 3", "steps x: not a table"),
        (HEAD + "[{ compute = 'f(1)' }]", "label p, step 1, expression 'f(1)': no function 'f'"),
        (HEAD + "[{ compute = 'f(1, 2)' }]\n[functions]\n'f(x)' = 'x'", "step 1, expression 'f(1, 2)': f with 2 argum"),
        (HEAD + "[{ compute = 'f' }]\n[functions]\n'f(x)' = 'x'", "'f' is a function"),
        (HEAD + "[]\n[functions]\n'f(x)' = 'y'", "function f, expression 'f(x) = y': no name 'y'"),
        (HEAD + "[]\n[functions]\n'f(x)' = 'x +'", "function f(x), expression 'x +': not an arithmetic expression"),
        (HEAD + "[]\n[functions]\n'f(x)' = true", "f(x) = true is not a number"),
        (HEAD + "[]\n[functions]\nf = 'x'", "function f: no name with parameters"),
        (HEAD + "[]\n[functions]\n'f()' = 'x'", "function f(): no name with parameters"),
        (HEAD + "[]\n[functions]\n'f(x, x)' = 'x'", "function f(x, x): the name 'x' is given twice"),
        (HEAD + "[]\n[functions]\n'f(p)' = 1", "function f(p): the name 'p' is given twice"),
        (HEAD + "[]\n[functions]\n'f(x)' = 1\n'f(x, y)' = 1", "function f(x, y): the name 'f' is given twice"),
        (HEAD + "[]\n[functions]\n'log2(x)' = 1", "log2 is a function of every description"),
        (HEAD + "[]\n[functions]\n'f(x)' = 'g(x)'\n'g(x)' = 'f(x)'", "function f: defined in terms of itself: f, g, f"),
        ("functions = 3\n" + HEAD + "[]", "functions is not a table"),
        ("[variables]\na = 'b + index'\nb = 'a'\n" + HEAD + "[]", "variable a: defined in terms of itself: a, b, a"),
        ("[variables]\na = []\n" + HEAD + "[]", "variable a: an empty list"),
        ("[variables]\na = [1, 'b']\n" + HEAD + "[]", "variable a, expression 'a = [1, b]': no name 'b'"),
        ("[variables]\na = [1, true]\n" + HEAD + "[]", "a = true is not a number"),
        ("[variables]\na = [1, 2]\n" + HEAD + "[{ compute = 'a' }]", "'a' is a list. Write for example a[index]"),
        ("[variables]\na = [1]\n" + HEAD + "[{ compute = 'b[0]' }]", "no list 'b'"),
        ("[labels.p]\ncount = 'f(2)'\nprogram = []\n[functions]\n'f(x)' = 'index'", "function f differs by process"),
        (HEAD + "[]\n[steps.x]\nparameters = ['from']\ndo = []", "steps x: 'from' cannot be a name"),
        (HEAD + "[{ cmpute = 3 }]", "step 1: no kind of step among cmpute. Near: compute"),
        (HEAD + "[{ compute = 'part(1, 2)' }]", "part with 2 arguments. Give 3 arguments"),
        (HEAD + "[{ send_to = 'p', bytes = 1, request = '' }]", "step 1: request = '' is not a name"),
        (HEAD + "[{ send_to = 'p', bytes = 1, buffered = 3 }]", "step 1: buffered = 3 is not a truth"),
        (HEAD + "[{ broadcast = 1, among = ['p', 'p'] }]", "step 1: p is named twice"),
        ("[variables]\na = {}\n" + HEAD + "[]", "variable a: a has {}, which is not a number"),
        ("[variables]\na = 2020-01-01\n" + HEAD + "[]", "which is not a number"),
        (HEAD + "[{ call = 3 }]", "call = 3 is not a name"),
        (HEAD + "[{ compute = 'random()' }]", "random without keys"),
        (HEAD + "[{ compute = 'random(index)' }]", "random variates without a seed"),
        (HEAD + "[{ compute = 'neighbour(1, 0)' }]", "neighbour with 2 arguments of a process without such a grid"),
        (GRID + "[{ compute = 'neighbour(1)' }]", "neighbour with 1 argument of a process without such a grid"),
        (HEAD + "[{ compute = 'coordinate(0)' }]", "coordinate of a process without a grid"),
        (GRID + "[]\ncount = 4", "both a count and a grid"),
        (GRID + "[]\nperiodic = [true]", "periodic = [True] for 2 axes"),
        (HEAD + "[]\nperiodic = true", "periodic without a grid"),
        ("[labels.p]\ngrid = []\nprogram = []", "label p, grid: not a list of numbers of processes"),
        (HEAD + "[{ while = 1, as = 'k' }]", "while without 'do'"),
        (HEAD + "[{ send_to = 'p', at = 0, bytes = 1, request = 'a' }]", "nothing waits for the request 'a'"),
        (HEAD + "[{ wait = 'a' }]", "no send or receive has the request 'a'"),
        (HEAD + "[{ wait = 3 }]", "wait = 3 is not a list of requests"),
        (HEAD + "[{ receive_from_any = 'q' }]", "no label 'q'"),
        (HEAD + "[{ broadcast = 1, root = 'p', split = 'index' }]", "a root label of split processes"),
        (HEAD + "[{ barrier = true, split = 0 }]\n[labels.q]\ncount = 1\nprogram = []", "split among several labels"),
        (HEAD + "[{ barrier = ['q'] }]\n[labels.q]\ncount = 1\nprogram = []", "p calls it but does not take part"),
    ],
)  # fmt: skip
def test_mistakes_are_refused_with_their_place_when_the_file_is_read(tmp_path, text, words):
    with pytest.raises(UserError) as caught:
        described(tmp_path, text)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("[{ compute = 1 }, { compute = 'n - 1' }]", "step 2, expression 'n - 1': below 0"),
        ("[{ send_to = 'p', at = 2, bytes = 1 }]", "expression '2': process 0 of p names process 2 of p, which has 2"),
        ("[{ receive_from = 'p', at = 0.5 }]", "process 0 of p names process 0.5 of p"),
        ("[{ allreduce = -8 }]", "step 1, expression '-8': below 0"),
        ("[{ broadcast = 1, at = 3 }]", "no process 3 of p"),
        ("[{ repeat = 2, do = [{ compute = '1 / n' }] }]", "step 1.1, expression '1 / n': division by zero (n = 0)"),
        ("[{ compute = 'costs[n + 2]' }]", "step 1, expression 'costs[n + 2]': no item 2 of the 2 of costs"),
        ("[{ compute = 'sum(1 // k for k in range(2))' }]", "step 1, expression 'sum(1 // k for k in range(2))': di"),
        ("[{ while = '1 / n', as = 'k', at_most = 1, do = [] }]", "division by zero (n = 0). Correct it"),
        ("[{ compute = 1, efficiency = '1 + costs[1]' }]", "an efficiency of 3 from '1 + costs[1]'"),
        ("[{ call = 'y', a = 'n - 1' }]", "step 1, y step 1, expression 'a = n - 1': below 0"),
        ("[{ call = 'x', a = 'n' }]", "step 1, x step 1, expression '5 // a': division by zero"),
    ],
)  # fmt: skip
def test_numbers_out_of_range_are_refused_before_anything_is_evaluated(tmp_path, program, words):
    steps = "[steps.x]\nparameters = ['a']\ndo = [{ compute = '5 // a' }]\n"
    steps += "[steps.y]\nparameters = ['a']\ndo = [{ compute = 'a' }]\n"
    application = described(tmp_path, f"[variables]\nn = 0\ncosts = [1, 2]\n{steps}{HEAD}{program}")
    with pytest.raises(UserError) as caught:
        check_constants(application)
    assert words in str(caught.value)


def test_steps_that_are_never_done_are_not_checked(tmp_path):
    dead = "[{ if = 'n', then = [{ compute = '1 / n' }] }, { repeat = 'n', do = [{ compute = -1 }] }]"
    check_constants(described(tmp_path, f"[variables]\nn = 0\n{HEAD}{dead}"))


def test_calls_that_would_fill_the_memory_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(expansion, "MOST_STEPS", 5000)  # for a quick test
    # Each calls the next one ten times: 10^10 steps.
    chain = [
        f"[steps.s{i}]\ndo = [{', '.join([call] * 10)}]" for i in range(10) for call in [f"{{ call = 's{i + 1}' }}"]
    ]
    with pytest.raises(UserError, match="more than 5000 steps after all calls"):
        described(tmp_path, "\n".join([*chain, "[steps.s10]\ndo = []", HEAD + "[{ call = 's0' }]"]))


def test_a_count_on_the_command_line_has_to_fit_the_grid():
    application = Application("", (Label("p", None, (), (2, 3)),))
    with pytest.raises(UserError, match=r"8 processes on a grid of 6\. Change the grid too"):
        application.changed(counts={"p": 8})


def test_split_processes_form_groups_by_their_number(tmp_path):
    application = described(tmp_path, "[labels.p]\ncount = 6\nprogram = [{ allreduce = 8, split = 'index % 2' }]")
    assert expand(application).groups == ((0, 2, 4), (1, 3, 5))
    # The same with a variable of each process that has been used before.
    text = "[variables]\nown = 'index % 2'\n[labels.p]\ncount = 6\n"
    program = "program = [{ compute = 'own' }, { allreduce = 8, split = 'own' }, { compute = 'own' }]"
    assert expand(described(tmp_path, text + program)).groups == ((0, 2, 4), (1, 3, 5))


def test_the_tutorial_ends_with_the_example():
    root = Path(__file__).parents[3]
    shown = re.findall(r"```toml\n(.*?)```", (root / "docs" / "tutorials" / "stencil.md").read_text(), re.DOTALL)
    assert tomllib.loads(shown[-1]) == tomllib.loads((root / "examples" / "blocks" / "stencil.toml").read_text())
