"""Kernels that declare themselves uniform: all their iterations do the same, but the first and the last."""

import pytest

from apps.errors import KernelError
from apps.programs import kernel
from apps.programs.kernel import kernel_names, named_kernel
from apps.programs.problem import problem, sized_problem
from apps.recording.events import Mark
from apps.recording.files import read_moments
from apps.runs.neutral import neutral_platform
from apps.runs.simulate import simulate
from apps.smpi.engine import note_events
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target

ITERATIVE = [name for name in kernel_names() if named_kernel(name).iterations_parameter is not None]


def hashes(asked, ranks, folder):
    """Return the hash of each iteration of a full run, by rank."""
    platform = neutral_platform(ranks)
    target = Target(asked, platform, tuple(host.name for host in platform.hosts))
    note_events(RunSpec(target), target.iterations, folder, what="test")
    moments = read_moments(folder, ranks)
    rows = [one["hash"][one["op"] == Mark.ITERATION].tolist() for one in moments]
    assert all(len(row) == target.iterations for row in rows)
    return rows


def asked_of(name, preset):
    if name == "himeno":
        return sized_problem(name, {"S": 32, "W": 64}[preset])
    if name == "fem":
        return sized_problem(name, {"S": 24, "W": 48}[preset], niter=20)
    return problem(name, preset)


def test_every_iterative_kernel_says_whether_it_is_uniform():
    assert ITERATIVE == ["bt", "cg", "fem", "ft", "himeno", "is", "lu", "mg", "sp"]
    assert [name for name in ITERATIVE if not named_kernel(name).uniform] == ["is"]


@pytest.mark.parametrize("preset", ["S", pytest.param("W", marks=pytest.mark.slow)])
@pytest.mark.parametrize("ranks", [4, 8])
@pytest.mark.parametrize("name", [name for name in ITERATIVE if named_kernel(name).uniform])
def test_every_iteration_of_a_uniform_kernel_does_the_same(name, ranks, preset, tmp_path):
    for row in hashes(asked_of(name, preset), ranks, tmp_path):
        assert len(set(row[1:-1])) == 1
        assert row[0] == row[1]
        assert (row[-1] == row[1]) == (name != "lu")  # whose last iteration computes norms


def test_is_is_not_uniform_and_simulated_in_full(tmp_path):
    rows = hashes(problem("is", "S"), 4, tmp_path)
    assert all(len(set(row)) > 1 for row in rows)  # each iteration changes two keys
    platform = neutral_platform(4)
    target = Target(problem("is", "S"), platform, tuple(host.name for host in platform.hosts))
    record = simulate(RunSpec(target, iterations="steady"))
    assert record.extrapolation is None and record.iterations_basis == "the kernel's iterations differ from each other"
    record = simulate(RunSpec(target, iterations=5))
    assert record.extrapolation.bound_rel is None and record.iterations_basis == "not shown to repeat"


def test_the_record_of_a_uniform_kernel_says_so():
    platform = neutral_platform(2)
    target = Target(problem("cg", "S"), platform, tuple(host.name for host in platform.hosts))
    assert simulate(RunSpec(target, iterations="steady")).iterations_basis == "uniform by construction"


@pytest.mark.parametrize("line", ['uniform = "yes"', "uniform = 1"])
def test_uniform_is_true_or_false(line, tmp_path, monkeypatch):
    folder = tmp_path / "odd"
    folder.mkdir()
    text = (named_kernel("mg").folder / "kernel.toml").read_text()
    given = next(one for one in text.splitlines() if one.startswith("uniform"))
    (folder / "kernel.toml").write_text(text.replace(given, line))
    monkeypatch.setattr(kernel, "_HERE", tmp_path)
    monkeypatch.setattr(kernel, "kernel_names", lambda: ("odd",))
    with pytest.raises(KernelError, match="Give true, false or nothing"):
        kernel.named_kernel("odd")
