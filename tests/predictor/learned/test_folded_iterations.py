"""One iteration that stands for all: where that is allowed, and that the run takes the time of all iterations."""

import re
from functools import cache
from pathlib import Path

import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.runs.neutral import neutral_platform
from apps.runs.record_events import record_events
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from platforms.read.routes import routes_between
from predictor.dpgraph.evaluate import estimate
from predictor.dpgraph.known import known_network
from predictor.dpgraph.program import Sections
from predictor.learned.errors import TooMany
from predictor.learned.folding import depends_on_outermost, fold, folded
from predictor.learned.generate import generate
from predictor.learned.learn import learn
from predictor.learned.models import Cases, Formula, Notes, Numeric, Split
from predictor.learned.partners import Along, Offset, Tree

HALO = own_problem(read_program(Path(__file__).parent / "data" / "halo3d.c", "8 {iterations}", 20))


@cache
def learned():
    recordings = []
    for nranks in (4, 8, 12, 18):
        platform = neutral_platform(nranks)
        target = Target(HALO, platform, tuple(host.name for host in platform.hosts))
        recordings.append(record_events(RunSpec(target), 3))
    return learn(recordings, [8])


def time_s(sections, iterations):
    platform = materialise(named_grid("grid4x12", "infiniband", [40e9, 50e9, 60e9, 70e9]))
    placement = block(platform, 48)
    network = known_network(routes_between(platform, sections.host_pairs(placement)), dict(platform.options))
    speeds = [1 / platform.host(name).speed_flops for name in placement]
    return estimate(sections, iterations, network, placement, speeds).time_s


def test_one_iteration_stands_for_all_where_they_are_alike():
    structure = learned()
    full = Sections(generate(structure, 48))
    for first_block, most_events in ((48, 1), (5, 1000)):
        sections = fold(folded(structure), 48, Notes(), None, first_block=first_block, block=most_events)
        for iterations in (3, 20):
            assert time_s(sections, iterations) == pytest.approx(time_s(full, iterations), rel=1e-12)
            assert sections.flops(iterations).tolist() == pytest.approx(full.flops(iterations).tolist())
        assert sections.pairs.tolist() == full.pairs.tolist()
        assert sections.looped(1).nmessages < 0.4 * full.program().nmessages
        assert not sections.polls and not full.polls


def test_a_folded_iteration_that_does_not_fit_into_memory_is_refused_before_it_is_expected(monkeypatch):
    structure, messages = learned(), fold(folded(learned()), 48, Notes(), None).looped(1).nmessages
    monkeypatch.setattr("predictor.learned.generate.free_bytes", lambda: 1e5)
    # A collective, the sum or the barrier, counts as two messages of each rank.
    with pytest.raises(TooMany, match=r"each evaluation of its (.*) messages would take .* s") as refused:
        fold(folded(structure), 48, Notes(), None)
    estimate = float(re.search(r"its (\S+) messages", str(refused.value))[1])
    assert messages <= estimate <= messages + 2 * 48


def test_iterations_that_differ_are_not_folded():
    structure = learned()
    loop = next(node for node in structure.root.children if not node.leaf)
    collective = next(leaf for leaf in loop.children if leaf.leaf)
    once, twice = (Numeric((Formula((), factor),)) for factor in (1.0, 2.0))
    kept = structure.leaves[collective].flops
    structure.leaves[collective].flops = Split(0, back=False, models={0: once, 1: twice, 2: twice})
    try:
        assert folded(structure) is None
    finally:
        structure.leaves[collective].flops = kept


def test_rules_of_the_outermost_loop_are_recognised():
    one = Numeric((Formula((), 1.0),))
    for name in ("i0", "2^-j0", "n0", "t0", "e(c1+i0-1):100", "w(j0):64", "kl1@m0", "V+-0(i0+1)u:64"):
        assert depends_on_outermost(Numeric((Formula(((2.0, ("P", name)),)),)))
    for name in (
        "i1",
        "lo0",
        "hi0",
        "lp0",
        "c0",
        "u0:33",
        "e0-1:100",
        "inner",
        "N:10",
        "kl0@m1",
        "V+-0(i1)u:64",
        "i10",
    ):
        assert not depends_on_outermost(Numeric((Formula(((2.0, ("P", name)),)),)))
    assert depends_on_outermost(Cases("t0<ld0", one, one)) and not depends_on_outermost(Cases("c0=last", one, one))
    assert depends_on_outermost(Tree(0, "m0", "l", None)) and not depends_on_outermost(Tree(0, "0", "l", None))
    assert not depends_on_outermost((Along(0, one), Offset((1, 0), either=(0,)), None))
