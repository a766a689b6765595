"""The instructions of an application's processes, against those written by hand."""

import pytest

from platforms.errors import UserError
from predictor.blocks import programs as steps
from predictor.blocks.application import Application
from predictor.blocks.programs import Label
from predictor.blocks.progression import Progression, Split
from predictor.blocks.stream import expand as expand_module
from predictor.blocks.stream.expand import Together, expand
from predictor.blocks.stream.instructions import Collective, Compute, Loop, Receive, Send, executed

HERE = ""  # places do not count when instructions are compared


def stream_of(*labels, **variables):
    return expand(Application("a", labels, variables))


def test_equal_processes_share_one_program():
    made = stream_of(Label("p", 1, (steps.Send("q", 8),)), Label("q", 100_000, (steps.Receive("p"),)))
    assert made.programs == ((Send(1, 100_000, 8, True, where=HERE),), (Receive(0, 1, where=HERE),))
    assert made.program_of == (0, *(1,) * 100_000)
    assert made.labels[:2] == ("p", "q") and made.indices[:3] == (0, 0, 1)


def test_turns_that_are_alike_are_a_loop_and_others_follow_each_other():
    body = (steps.Compute("min(k, 2)"),)
    made = stream_of(Label("p", 1, (steps.Repeat(10, body, "k"), steps.Repeat(4, (steps.Compute(7),), "j"))))
    compute = {operations: Compute(operations, where=HERE) for operations in (0, 1, 2, 7)}
    rest = Loop(8, (compute[2],), where=HERE), Loop(4, (compute[7],), where=HERE)
    assert made.programs == ((compute[0], compute[1], *rest),)
    assert [times for _, times in executed(made.programs[0])] == [1, 1, 8, 4]


def test_turns_with_the_same_values_are_made_once(monkeypatch):
    made = []
    real = expand_module.Compute
    monkeypatch.setattr(expand_module, "Compute", lambda *given, **named: made.append(given) or real(*given, **named))
    body = (
        steps.If("k % 4 == 3", (steps.Compute("10 * (k % 8)"), steps.Repeat(2, (steps.Compute(5),)))),
        steps.If("k % 4 != 3", (steps.Compute("k // 100"),)),
    )
    (program,) = stream_of(Label("p", 1, (steps.Repeat(200, body, "k"),))).programs
    found = [one.operations for one, times in executed(program) for _ in range(times)]
    wanted = [[10 * (k % 8), 5, 5] if k % 4 == 3 else [k // 100] for k in range(200)]
    assert found == [operations for turn in wanted for operations in turn]
    assert len(made) == 2 * 2 + 2  # 30 and 70 with a 5 each, 0 and 1


def test_a_turn_is_not_taken_for_another_if_a_collective_or_an_inner_loop_uses_it():
    inner = steps.Repeat("k + 1", (steps.Compute(1),))
    body = (inner, steps.Broadcast(bytes="8 * k", root="p"), steps.Repeat(2, (steps.Compute("j + k"),), "j"))
    (program,) = stream_of(Label("p", 1, (steps.Repeat(3, body, "k"),))).programs
    found = [(getattr(one, "operations", None), times) for one, times in executed(program)]
    sizes = [one.size_bytes for one, _ in executed(program) if isinstance(one, Collective)]
    wanted = [[(1, k + 1), (None, 1), (k, 1), (1 + k, 1)] for k in range(3)]
    assert found == [one for turn in wanted for one in turn] and sizes == [0, 8, 16]


def test_what_is_kept_does_not_grow_with_the_turns(monkeypatch):
    monkeypatch.setattr(expand_module, "_MOST_KEPT", 5)
    body = (steps.If("k % 2 == 0", (steps.Compute("k // 40"),)), steps.Compute("3 if k < 99 else 4"))
    expansion = expand_module._Expansion(Application("a", (Label("p", 1, (steps.Repeat(100, body, "k"),)),)), 1000)
    (program,) = expansion.stream().programs
    found = [one.operations for one, times in executed(program) for _ in range(times)]
    wanted = [([] if k % 2 else [k // 40]) + [3 if k < 99 else 4] for k in range(100)]
    assert found == [operations for turn in wanted for operations in turn]
    assert len(expansion.known) <= 5
    assert len(expansion.asked) <= 3  # the questions of the last turn that was made


def test_an_error_of_one_turn_is_found_though_others_are_alike():
    body = (steps.If("k % 2 == 0", (steps.Compute("1 / (k - 6) + 10"),)),)
    with pytest.raises(UserError, match=r"step 1\.1\.1"):
        stream_of(Label("p", 1, (steps.Repeat(8, body, "k"),)))


def test_a_billion_turns_are_expanded_once():
    made = stream_of(Label("p", 1, (steps.Repeat(10**9, (steps.Repeat(10, (steps.Compute(1),)),)),)))
    assert [times for _, times in executed(made.programs[0])] == [10**10]


def test_a_group_has_the_processes_of_its_labels_in_the_order_of_the_application():
    made = stream_of(
        Label("p", 2, (steps.Barrier(("r", "p")), steps.Gather(bytes=7, root="r", at=1, among=("p", "r")))),
        Label("q", 3, ()),
        Label("r", 2, (steps.Barrier(("p", "r")), steps.Gather(bytes=7, root="r", at=1, among=("p", "r")))),
    )
    assert made.groups == ((0, 1, 5, 6),)
    # Each of the four processes sends its part of the root's seven bytes, in whole bytes.
    calls = Collective("barrier", 0, 0, 0, where=HERE), Collective("gather", 0, 3, 2, where=HERE)
    assert made.programs == (calls, ())


def test_equal_processes_are_expanded_together_and_split_where_they_differ():
    sends = steps.Send("q", 8, "index + 1"), steps.Send("q", "index % 2", 0)
    together = [Together(Application("a", (Label("p", 4, (send,)), Label("q", 5, ())))) for send in sends]
    (made,) = together[0].program("p", Progression(0, 1, 4), 0)
    # Processes 0 to 3 of p send to processes 1 to 4 of q, which are 5 to 8 of all.
    assert (made.first.first, made.first.step, made.first.last, made.count, made.size_bytes) == (5, 1, 8, 1, 8)
    with pytest.raises(Split) as split:
        together[1].program("p", Progression(0, 1, 4), 0)
    assert [(part.first, part.stride, part.count) for part in split.value.parts] == [(0, 2, 2), (1, 2, 2)]


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (steps.Send("p", 8, "index"), "label p, step 1, expression 'index': process 0 of p names process 0 of p"),
        (steps.Send("p", -1), "label p, step 1, expression '-1': below 0. Give 0 or more bytes"),
        (steps.Compute("index - 1"), "label p, step 1, expression 'index - 1': below 0. Give 0 or more operations"),
        (steps.Broadcast(bytes=8, at=2), "label p, step 1: no process 2 of p, which has 2. Count from 0"),
        (steps.Barrier(("q",)), "label p, step 1: p calls it but does not take part"),
    ],
)
def test_impossible_steps_are_refused_before_anything_is_evaluated(step, words):
    with pytest.raises(UserError) as caught:
        stream_of(Label("p", 2, (step,)), Label("q", 1, ()))
    assert words in str(caught.value)
