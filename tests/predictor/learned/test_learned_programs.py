"""Programs that were learned on few ranks, compared event by event with recordings on many."""

import re
from functools import cache
from pathlib import Path

import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem, sized_problem
from apps.runs.neutral import neutral_platform
from apps.runs.record_events import record_events
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from predictor.learned.errors import CannotContinue, TooMany
from predictor.learned.generate import generate
from predictor.learned.learn import learn
from predictor.learned.matching import difference
from predictor.learned.models import Notes

DATA = Path(__file__).parent / "data"


def of_program(name, arguments=""):
    return own_problem(read_program(DATA / name, arguments))


@cache
def recorded(asked, nranks):
    platform = neutral_platform(nranks)
    return record_events(RunSpec(Target(asked, platform, tuple(host.name for host in platform.hosts))), 3)


def check_exact(asked, counts, numbers, nranks):
    structure, notes = learn([recorded(asked, count) for count in counts], numbers), Notes()
    assert not structure.unconfirmed and not structure.fitted
    assert difference(generate(structure, nranks, notes=notes), recorded(asked, nranks)) is None
    return structure, notes


def test_a_stencil_in_uneven_shares_is_that_of_more_ranks():
    structure, notes = check_exact(of_program("stencil2d.c", "4100 3"), (4, 8, 12, 18, 27), [4100], 45)
    assert structure.space.grid == "2-D, as MPI_Dims_create of SMPI"
    assert not notes.assumed and not notes.differs


def test_a_halo_along_three_axes_is_that_of_more_ranks():
    check_exact(of_program("halo3d.c", "10 3"), (4, 8, 12, 18, 27), [10], 48)


@pytest.mark.slow
def test_conjugate_gradients_exchange_with_the_ranks_of_other_bits():
    check_exact(problem("cg", "S"), (4, 8, 16, 32), [1400], 64)


def test_a_transform_sends_to_all_ranks():
    check_exact(problem("ft", "S"), (2, 4, 8, 16), [64], 32)


def test_partners_without_a_rule_are_refused_and_the_call_is_named():
    with pytest.raises(CannotContinue) as refused:
        learn([recorded(of_program("random_graph.c"), count) for count in (4, 6, 8, 9)], [])
    assert str(refused.value).startswith(("RECV at 0x", "SEND at 0x"))


def test_one_number_of_ranks_teaches_nothing():
    with pytest.raises(CannotContinue, match="at least two numbers of ranks"):
        learn([recorded(problem("ft", "S"), 2)], [64])


def test_an_iteration_of_jacobi_in_uneven_shares_is_that_of_more_ranks():
    source = Path(__file__).parents[3] / "examples" / "jacobi" / "jacobi.c"
    asked = own_problem(read_program(source, "1000 3 charged"))
    check_exact(asked, (4, 8, 12, 18), [1000], 30)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["bt", "sp"])
def test_the_cells_of_a_multi_partition_move_along_diagonals(kernel):
    check_exact(problem(kernel, "A"), (4, 9, 16, 25, 36), [64], 100)


@pytest.mark.slow
def test_ghost_layers_around_the_points_inside_a_boundary_are_those_of_more_ranks():
    asked = sized_problem("himeno", 64)
    structure = learn([recorded(asked, count) for count in (8, 12, 18, 27, 64)], [64])
    assert difference(generate(structure, 216), recorded(asked, 216)) is None


@pytest.mark.slow
def test_panels_go_down_trees_whose_roots_move():
    check_exact(sized_problem("summa", 4096), (4, 8, 16, 32), [4096, 64], 128)


def test_workers_get_shares_that_they_compute_on():
    check_exact(of_program("workers.c", "1000"), (4, 6, 9, 12), [1000], 20)


def test_an_all_to_all_with_fewer_entries_than_members_is_doubtful():
    asked = sized_problem("fft", 1 << 20)  # from 256 ranks on it divides its points in another way
    structure = learn([recorded(asked, count) for count in (4, 8, 16)], [1 << 20])
    sure, doubtful = Notes(), Notes()
    assert difference(generate(structure, 32, notes=sure), recorded(asked, 32)) is None
    generate(structure, 256, notes=doubtful)
    assert not sure.assumed
    assert any("fewer entries than it has members" in what for what in doubtful.assumed.values())


def test_a_program_that_would_not_fit_into_memory_is_refused(monkeypatch):
    structure = learn([recorded(of_program("halo3d.c", "10 3"), count) for count in (4, 8, 12, 18)], [10])
    monkeypatch.setattr("predictor.learned.generate.free_bytes", lambda: 1e6)
    generate(structure, 27)
    with pytest.raises(CannotContinue, match=r"its more than .* events there would not fit into 0.0 GB"):
        generate(structure, 64)


def test_what_would_not_fit_is_refused_by_the_events_of_a_few_ranks_before_all_are_expected(monkeypatch):
    structure = learn([recorded(of_program("halo3d.c", "10 3"), count) for count in (4, 8, 12, 18)], [10])
    events = sum(map(len, generate(structure, 48).events))
    monkeypatch.setattr("predictor.learned.generate.free_bytes", lambda: 1e6)
    monkeypatch.setattr("predictor.learned.generate._MANY", 1)
    with pytest.raises(TooMany, match=re.escape(f"its {events:.2g} events there would take")):
        generate(structure, 48)  # a periodic halo: all ranks have as many events


def test_recordings_of_smaller_problems_lead_to_a_larger_one():
    sizes = {4: 400, 8: 503, 12: 610, 18: 333, 27: 700}
    small = [recorded(of_program("stencil2d.c", f"{n} 3"), nranks) for nranks, n in sizes.items()]
    structure = learn(small, [4100], recorded={nranks: (n,) for nranks, n in sizes.items()})
    assert not structure.unconfirmed and not structure.fitted
    assert difference(generate(structure, 45), recorded(of_program("stencil2d.c", "4100 3"), 45)) is None


@pytest.mark.slow
def test_a_multigrid_on_whose_coarse_levels_ranks_drop_out_is_that_of_more_ranks():
    asked, counts = problem("mg", "S"), (4, 7, 11, 16, 22, 27, 32, 36, 48, 64)
    structure = learn([recorded(asked, count) for count in counts], [32])
    assert difference(generate(structure, 128), recorded(asked, 128)) is None
