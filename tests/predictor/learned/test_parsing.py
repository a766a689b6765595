"""Traces parsed by a nest of loops, beside what is read off by hand."""

import numpy as np

from apps.recording.events import EVENT, Kind
from predictor.learned.nest import loop_nest
from predictor.learned.parsing import Cut, Parse, parse
from predictor.learned.skeleton import Symbol, Trace

A, B, C, D, E = range(5)  # places of the text, in this order


def _parsed(*rows: list[int], cuts: tuple[Cut, ...] = ()) -> Parse:
    traces, none = [], np.zeros(0, np.int64)
    for rank, row in enumerate(rows):
        symbols = np.array(row, np.int64)
        events = np.zeros(len(row), EVENT)
        traces.append(Trace(len(rows), rank, symbols, events, 0.0 * symbols, symbols, symbols, symbols, none))
    symbols = [Symbol(Kind.SEND, (at,), 0, 0, 0) for at in range(max(map(max, rows)) + 1)]
    root = loop_nest(traces, np.arange(len(symbols)), symbols)
    return parse(root, traces, np.arange(len(symbols)), cuts)


def test_every_event_is_in_the_turns_of_the_loops_around_it():
    # a (b (c d)*)* e: two turns of the outer loop, of three and of two inner ones
    parsed = _parsed([A, B, C, D, C, D, C, D, B, C, D, C, D, E])
    outer = parsed.root.children[1]
    inner = outer.children[1]
    assert parsed.passes[outer].turn.tolist() == [[0], [1]]
    assert parsed.passes[inner].turn.tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1]]
    assert parsed.loops[outer].turns.tolist() == [2]
    assert parsed.loops[inner].turns.tolist() == [3, 2]
    assert parsed.loops[inner].began.tolist() == [2, 9]
    assert parsed.leaves[inner.children[1]].event.tolist() == [3, 5, 7, 10, 12]
    assert parsed.rows(inner).turns.tolist() == [[2, 3]] * 3 + [[2, 2]] * 2


def test_a_rank_that_leaves_a_loop_out_has_no_turns_of_it():
    parsed = _parsed([A, B, C, B, C, E], [A, E])
    (loop,) = parsed.loops
    assert parsed.loops[loop].turns.tolist() == [2, 0]
    assert parsed.loops[loop].began.tolist() == [1, -1]
    assert parsed.passes[loop].trace.tolist() == [0, 0]
    assert parsed.rows(parsed.root).rank.tolist() == [0, 1]


def test_at_a_cut_the_outer_loop_goes_on():
    row = [A, B, C, B, C, A, B, C, B, C, B, C]
    parsed = _parsed(row)
    outer = parsed.root.children[0]
    inner = outer.children[1]
    assert parsed.loops[inner].turns.tolist() == [2, 3]
    # The third turn of the second execution begins with event 10: there the outer loop is to go on.
    cut = parse(parsed.root, parsed.traces, np.arange(3), [Cut(outer, np.array([10]))])
    assert cut.loops[outer].turns.tolist() == [3]
    assert cut.loops[inner].turns.tolist() == [2, 2, 1]
