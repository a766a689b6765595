"""Runs of the official kernels on the reference platform; each worker makes each run once."""

import csv
import functools
from pathlib import Path

import pytest

from apps.programs.problem import problem, sized_problem
from apps.runs.engines import run_iterations
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store
from platforms.model.placement import block
from platforms.read.read import read_platform

DATA = Path(__file__).parent / "data"


@functools.cache
def reference_rows(name):
    """Return the rows of a reference table, with numbers converted."""
    with open(DATA / f"{name}.csv", newline="") as file:
        return [{key: _value(text) for key, text in row.items()} for row in csv.DictReader(file)]


def _value(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


@functools.cache
def run_kernel(app, preset, ranks, *, mode="skeleton", compute="none", efficiency=1.0, iterations=None, options=()):
    """Return the record of a number of iterations (None: all), with block mapping on the reference platform."""
    platform = read_platform(DATA / "platform-grid-ref.xml")
    target = Target(problem(app, preset), platform, block(platform, ranks))
    spec = RunSpec(target, mode=mode, compute=compute, efficiency=efficiency, options=options)
    return run_iterations(spec, iterations or target.iterations)


@functools.cache
def run_sized(
    app, size, ranks, *, mode="skeleton", compute="none", efficiency=1.0, iterations=None, options=(), **parameters
):
    """Return the same for a kernel of free sizes: N, and parameters that replace its defaults."""
    platform = read_platform(DATA / "platform-grid-ref.xml")
    target = Target(sized_problem(app, size, **parameters), platform, block(platform, ranks))
    spec = RunSpec(target, mode=mode, compute=compute, efficiency=efficiency, options=options)
    return run_iterations(spec, iterations or spec.full_iterations)


@pytest.fixture(scope="session")
def kernel():
    return run_kernel


@pytest.fixture(scope="session")
def sized():
    return run_sized


@pytest.fixture(scope="session")
def reference():
    return reference_rows


@pytest.fixture
def lines():
    """The lines that ``store`` reports."""
    return []


@pytest.fixture
def store(tmp_path, lines):
    """A new store in the folder ``store`` of the test, which reports into ``lines``."""
    with Store(tmp_path / "store", report=lines.append) as opened:
        yield opened
