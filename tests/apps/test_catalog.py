"""Problems of free size, and what a benchmark's own rule allows."""

import re

import pytest

from apps.catalog import app, app_names, problem, sized_names, sized_problem
from apps.errors import KernelError
from apps.rank_rules import RANK_RULES


def test_every_kernel_has_classes_or_sizes_and_a_known_rule():
    for name in app_names():
        kernel = app(name)
        assert bool(kernel.classes) != (kernel.size_parameter is not None), name
        assert kernel.rank_rule in RANK_RULES, name


def test_a_size_and_what_differs_from_the_defaults_name_a_problem():
    assert str(sized_problem("himeno", 64)) == "himeno 64"
    assert sized_problem("himeno", 64, niter="7").label == "64 niter=7"
    assert sized_problem("himeno", 64, niter=7).iterations_on(4) == 7
    assert str(problem("cg", "S")) == "cg S"
    assert set(sized_names()) >= {"himeno", "hpl"}


@pytest.mark.parametrize(
    ("name", "size", "parameters", "message"),
    [
        ("cg", 64, {}, "cg has no free size. Give one of its classes: S, W, A"),
        ("himeno", 0, {}, "size 0: not a size"),
        ("himeno", 64, {"iterations": "3"}, "himeno has no such parameter. Known: niter"),
        ("himeno", 64, {"niter": "many"}, "parameter niter=many: not an integer"),
        ("himeno", 64, {"niter": 2.5}, "parameter niter=2.5: not an integer"),
        ("hpl", 64, {"broadcast": "ring mode"}, "parameter broadcast=ring mode: not a word"),
    ],
)
def test_what_does_not_fit_is_refused(name, size, parameters, message):
    with pytest.raises(KernelError, match=re.escape(message)):
        sized_problem(name, size, **parameters)


def test_a_sized_kernel_has_no_classes():
    with pytest.raises(KernelError, match=re.escape("hpl has no classes. Give its size N with --size")):
        problem("hpl", "B")


@pytest.mark.parametrize(
    ("name", "size", "allowed"),
    [
        ("himeno", 64, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
        # Ichikawa, Takahashi, Kawai, section 5.2: N must be a multiple of P; 5.4: of P^2, P a power of two.
        ("fem", 72, [1, 2, 3, 4, 6, 8, 9, 12]),
        ("fft", 64, [1, 2, 4, 8]),
    ],
)
def test_the_benchmarks_own_rule_decides_on_the_ranks(name, size, allowed):
    asked = sized_problem(name, size)
    assert [ranks for ranks in range(1, 13) if asked.allows(ranks)] == allowed


def test_a_process_grid_needs_whole_columns():
    assert [p for p in range(1, 8) if sized_problem("hpl", 100, grid_rows=3).allows(p)] == [3, 6]
    assert sized_problem("hpl", 100).allows(7)
