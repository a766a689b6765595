"""Names that the steps of a process set: assigned, accumulated, and tested in each turn of a loop."""

import math

import pytest

from platforms.errors import UserError
from platforms.system.convert import system_named
from predictor.blocks.application import Application
from predictor.blocks.evaluation.evaluate import evaluate
from predictor.blocks.programs import Call, Compute, If, Label, NamedSteps, Repeat, RepeatUntil, Set, While, WriteDisk
from predictor.blocks.setting import Setting
from predictor.blocks.stream import expand as expand_module
from predictor.blocks.stream.expand import expand
from predictor.blocks.stream.instructions import Loop
from predictor.checkpoints.placed import one_checkpoint, rhythm_of, without_checkpoints
from tests.predictor.blocks.test_block_language import described, operations

HALVING = (Set("r", 1), While("r > tolerance", None, (Compute("8 * r"), Set.of("r /= 2"))))


def one(*steps, count=1, variables=None, named=()):
    return Application("", (Label("p", count, steps),), variables or {}, steps=named)


def test_a_solver_halves_its_residual_until_it_is_below_the_tolerance():
    application = one(*HALVING, variables={"tolerance": 0.1})
    assert operations(application) == [[8, 4, 2, 1]]  # 1/16 < 0.1
    assert operations(application.changed(variables={"tolerance": 1})) == [[]]


def test_the_condition_of_repeat_until_is_tested_after_each_turn():
    steps = (Set("r", "index"), RepeatUntil("r >= 3", steps=(Compute("r"), Set.of("r += 1"))))
    assert operations(one(*steps, count=5)) == [[0, 1, 2], [1, 2], [2], [3], [4]]


@pytest.mark.parametrize("most", [0, 2])
def test_a_bound_ends_a_loop_before_its_condition(most):
    steps = tuple(kind("0 < x" if kind is While else "x < 0", most, (Compute(1),)) for kind in (While, RepeatUntil))
    assert operations(one(Set("x", 5), *steps)) == [[1] * (2 * most)]


def test_loops_whose_condition_no_step_changes_are_not_followed_turn_by_turn():
    loop = While("index < n", 10**6, (While("0 < 1", 10**6, (Compute("n"),)),))
    (loops, nothing) = expand(one(loop, count=2, variables={"n": 1})).programs
    assert nothing == () and [(outer.times, outer.body[0].times) for outer in loops] == [(10**6, 10**6)]


def test_a_master_hands_out_chunks_until_the_work_is_used_up(tmp_path):
    # Of 10 units a chunk is a quarter of what is left, rounded up: 3, 2, 2, 1, 1, 1.
    text = """
    [steps.take]
    do = [{ set = "chunk = ceil(left / 4)" }, { set = "left -= chunk" }]
    [labels.master]
    count = 1
    program = [{ set = "left = 10" }, { while = "left > 0", do = [{ call = "take" }, { compute = "chunk" }] }]
    [labels.worker]
    count = 2
    program = [{ set = "left = 10" }, { while = "left > 0", as = "k", do = [
        { call = "take" },
        { if = "k % 2 == index", then = [{ compute = "chunk" }] },
    ] }]
    """
    assert operations(described(tmp_path, text)) == [[3, 2, 2, 1, 1, 1], [3, 2, 1], [2, 1, 1]]


def test_a_loop_over_turns_sees_what_the_turns_before_have_accumulated():
    steps = (Set("x", 1), Repeat("x + 2", (Set.of("x *= 2"), If("x > 4", (Compute("x + k"),))), "k"), Compute("x"))
    assert operations(one(*steps)) == [[8 + 2, 8]]  # x = 2, 4, 8 in the turns k = 0, 1, 2
    nested = (Set("x", 0), Repeat(2, (Repeat(2, (Set.of("x += 1"),)), Compute("x"))))
    assert operations(one(*nested)) == [[2, 4]]


def test_equal_turns_are_one_loop():
    steps = (Set("left", 1000), While("left > 0", None, (Compute("min(left, 1)"), Set.of("left -= 1"))))
    stream = expand(one(*steps))
    assert [(type(row), row.times) for row in stream.programs[0]] == [(Loop, 1000)]


def test_an_argument_keeps_the_value_that_it_has_at_the_call():
    named = (NamedSteps("x", ("a",), (Set.of("q -= 1"), Compute("a"), Compute("q"), Call("y", {"b": "a + q"}))),
             NamedSteps("y", ("b",), (Set("q", 100), Compute("b"))))  # fmt: skip
    assert operations(one(Set("q", 5), Call("x", {"a": "q"}), named=named)) == [[5, 4, 9]]


def test_a_random_walk_ends_after_as_many_turns_as_its_own_draws_say():
    steps = (Set("x", 0), While("x < 3", None, (Compute(1), Set.of("x += random(index, k)")), "k"))
    done = operations(one(*steps, count=2000, variables={"seed": 2}))
    turns = sum(map(len, done)) / 2000
    # Uniform draws reach x = 3 after sum_k (-1)^k (x - k)^k e^(x - k) / k! of them; the variance is about 2.
    assert turns == pytest.approx(math.e**3 - 2 * math.e**2 + math.e / 2, abs=5 * (2 / 2000) ** 0.5)


@pytest.mark.parametrize("start", ["index * 3", "index % 3", "4"])
def test_cohorts_have_the_times_of_single_processes(start):
    work = (Set("x", start), While("x > 0", None, (Compute("1e9 * x"), Set.of("x -= 2"))))
    setting = Setting(one(*work, count=12), system_named("examples/blocks/cluster.toml"))
    speed = system_named("examples/blocks/cluster.toml").groups[0].unit.speed_flops
    cohorts, graph = (evaluate(setting.application, setting.machine(), evaluator=how) for how in ("cohorts", "graph"))
    most = max(eval(start, {"index": index}) for index in range(12))
    expected = sum(range(most, 0, -2)) * 1e9 / speed
    assert cohorts.time_s == pytest.approx(expected, rel=1e-12) == pytest.approx(graph.time_s, rel=1e-12)
    assert cohorts.labels[0].compute_s == pytest.approx(graph.labels[0].compute_s, rel=1e-12)


HEAD = "[variables]\nn = 3\n[steps.s]\nparameters = ['a']\ndo = [{ set = 'w = a' }]\n[labels.p]\ncount = 3\nprogram = "


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("[{ set = 'n += 1' }]", "step 1: 'n' has a meaning that no step changes"),
        ("[{ set = 'p = 1' }]", "step 1: 'p' has a meaning that no step changes"),
        ("[{ set = 'size = 1' }]", "step 1: 'size' has a meaning that no step changes"),
        ("[{ set = 'index = 1' }]", "step 1: 'index' cannot be a name"),
        ("[{ set = 'a = 1' }]", "step 1: the name 'a' is given twice"),
        ("[{ set = 'n == 1' }]", "step 1, set 'n == 1': not an assignment"),
        ("[{ set = 3 }]", "step 1, set 3: not an assignment"),
        ("[{ set = 'q = m' }]", "step 1, expression 'm': no name 'm'"),
        ("[{ set = 'q += 1' }]", "step 1, expression 'q + (1)': q has no value yet"),
        ("[{ compute = 'q' }, { set = 'q = 1' }]", "step 1, expression 'q': q has no value yet"),
        ("[{ while = 'w > 1', do = [] }]", "step 1, expression 'w > 1': w has no value yet"),
        ("[{ set = 'q = 1' }, { repeat = 3, as = 'q', do = [] }]", "step 2: 'q' cannot be a loop's variable"),
        ("[{ set = 'q = 1' }, { while = 'q', as = 'q', do = [] }]", "step 2: 'q' cannot be a loop's variable"),
        ("[{ set = 'q = 1' }, { barrier = true, split = 'q' }]", "step 2: a split by q, which steps set"),
        ("[{ set = 'q = 1' }, { while = 'q > 0', do = [{ compute = 1 }] }]", "step 2: 'q > 0' has not ended the loop"),
        ("[{ set = 'q = 1' }, { repeat_until = 'q < 0', do = [] }]", "after 1000 turns. Set what it"),
        ("[{ set = 'q = 1' }, { while = 'q', at_most = 'q / 2', do = [] }]", "step 2: at_most is 0.5"),
        ("[{ repeat_until = 'n' }]", "step 1: repeat_until without 'do'"),
    ],
)  # fmt: skip
def test_mistakes_are_one_clear_line(tmp_path, program, words, monkeypatch):
    monkeypatch.setattr(expand_module, "MOST_OPEN_TURNS", 1000)  # for a quick test
    with pytest.raises(UserError) as caught:
        expand(described(tmp_path, HEAD + program))
    assert words in str(caught.value).replace("the name 'a' is given twice", "step 1: the name 'a' is given twice")
    assert len(str(caught.value).splitlines()) == 1


def test_a_checkpoint_that_depends_on_what_steps_set_is_written_once():
    # Every 4 units of work 100 bytes are written: when they are due counts as always, and what sets them is kept.
    turn = (Compute(1), Set.of("done += 1"), If("done % 4 == 0", (WriteDisk("size_b"),)))
    application = one(Set("done", 0), Set("size_b", 100), While("done < n", None, turn), variables={"n": 12})
    assert rhythm_of(application) is None
    written = [row for program in expand(one_checkpoint(application)).programs for row in program]
    assert [row.size_bytes for row in written] == [100]
    assert operations(without_checkpoints(application)) == [[1] * 12]


@pytest.mark.parametrize("grown", [Repeat(400, (Set.of("x *= 10"),)), Repeat(40, (Set.of("x *= x"),))])
def test_a_whole_number_that_grows_beyond_all_bounds_is_refused(grown):
    with pytest.raises(UserError, match="the result is too large"):
        operations(one(Set("x", 10), grown, Compute("x")))
