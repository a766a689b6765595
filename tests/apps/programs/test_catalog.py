"""Problems of free size, and the benchmarks' own rules for the number of ranks."""

import re

import pytest

from apps.errors import KernelError
from apps.programs import kernel as kernels
from apps.programs.kernel import bytes_per_flop, kernel_names, named_kernel, rank_rule, sized_names
from apps.programs.problem import Problem, problem, sized_problem
from apps.run import main
from apps.runs.engines import run_iterations
from apps.smpi.launch import launch
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise


def test_every_kernel_has_classes_or_sizes_and_a_known_rule():
    for name in kernel_names():
        kernel = named_kernel(name)
        assert bool(kernel.classes) != (kernel.size_parameter is not None), name
        params = next(iter(kernel.classes.values()), {kernel.size_parameter: 64, **kernel.parameters})
        assert rank_rule(kernel) and bytes_per_flop(kernel, params) >= 0, name


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
        ("himeno", 3_000_000, {}, "size 3000000: too large for himeno. Give an integer from 1 to 46340"),
        ("himeno", 64, {"size": "5"}, "parameter 'size': himeno has no such parameter. Known: niter"),
        ("himeno", 64, {"kernel_name": "x"}, "parameter 'kernel_name': himeno has no such parameter"),
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
        ("himeno", 8, [1, 2, 3, 4, 5, 6, 8, 9, 10, 12]),  # six points along an axis; the primes 7 and 11 are larger
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
    assert sized_problem("hpl", 100, grid_rows=0).allows(7)
    assert not any(sized_problem("hpl", 100, grid_rows=-1).allows(p) for p in range(1, 8))


def one_rank(asked, **how):
    platform = materialise(named_grid("grid1x1", speeds_flops=[1e9]))
    return RunSpec(Target(asked, platform, block(platform, 1)), **how)


@pytest.mark.parametrize("name", [name for name in sized_names() if name != "fem"])
def test_the_largest_size_is_the_kernels_own(name):
    # Powers of two for FFT, the next larger number for the others.
    kernel = named_kernel(name)
    more = 2 * kernel.most_size if name == "fft" else kernel.most_size + 1
    params = {**dict(sized_problem(name, kernel.most_size).params), kernel.size_parameter: more}
    with pytest.raises(KernelError, match=f"n is {more}, not "):
        run_iterations(one_rank(Problem(name, tuple(params.items()))), 1)


def test_too_little_memory_for_a_reference_is_said(monkeypatch):
    def none(params, nranks):
        raise MemoryError

    monkeypatch.setattr("apps.kernels.fft.reference.references", none)
    with pytest.raises(KernelError, match="fft 64: not enough memory to compute the reference results"):
        launch(one_rank(sized_problem("fft", 64), mode="verify"), 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--app himeno --size 3000000 --mode verify", "too large for himeno"),
        ("--app hpl --size 5000000000 --mode verify", "too large for hpl"),
        ("--app hpl --size 4194303 --mode verify", "does not fit into memory"),
        ("--app fft --size 1099511627776 --mode verify", "too large for fft"),
        ("--app fem --size 1099511627776 --mode verify", "too large"),
        ("--app himeno --size 64 --param size=5", "has no such parameter"),
        ("--app fem --size 72 --ranks 5", "N must be a multiple of the number of ranks"),
    ],
)
def test_bad_sizes_and_parameters_get_one_line(capsys, arguments, said):
    assert main(f"{arguments} --scenario grid4x2".split()) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert said in error


def test_a_kernel_file_without_its_keys_is_said(tmp_path, monkeypatch):
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "kernel.toml").write_text('title = "t"\ncolour = "red"\n')
    monkeypatch.setattr(kernels, "_HERE", tmp_path)
    monkeypatch.setattr(kernels, "kernel_names", lambda: ("odd",))
    kernels._read_kernel.cache_clear()
    with pytest.raises(KernelError, match=r"odd/kernel\.toml: missing or unknown keys: .*colour"):
        kernels.named_kernel("odd")


def test_a_list_gives_the_parameters_that_count_up_from_its_name():
    official = named_kernel("is").classes["S"]  # NPB 3.4, is.c: test_index_array and test_rank_array of class S
    assert [official[f"test_index{place}"] for place in range(5)] == [48427, 17148, 23627, 62548, 4431]
    assert [official[f"test_rank{place}"] for place in range(5)] == [0, 18, 346, 64917, 65463]
    assert not any(isinstance(value, list) for value in official.values())
