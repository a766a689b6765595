"""What python -m apps.run says of a record."""

import dataclasses
import re
from pathlib import Path

import pytest

from apps.catalog import own_problem, problem
from apps.run import _own_cautions, summary
from apps.spec import Target
from apps.user_program import read_program
from platforms.placement import block
from platforms.read import materialise
from platforms.scenario import named_grid

JACOBI = Path(__file__).parents[2] / "examples" / "jacobi" / "jacobi.c"


@pytest.fixture
def target():
    platform = materialise(named_grid("grid4x2"))
    return Target(problem("cg", "S"), platform, block(platform, 4))


def jacobi():
    return own_problem(read_program(JACOBI, "100 {iterations}", 10))


def test_energy_of_links_is_told(record_of, target):
    record = dataclasses.replace(record_of(target, 1.0, 1.0), link_energy_j={"a": 1.5, "b": 2.0})
    assert re.search(r"^energy .*3\.5 J on 2 links$", summary(record), re.MULTILINE)


def test_a_program_whose_iterations_do_not_settle_is_said(record_of, target):
    record = dataclasses.replace(
        record_of(target, 1.0, 1.0), identity={"compute": "none", "iterations": "steady"}, extrapolation=None
    )
    assert _own_cautions(record, jacobi()) == [
        "all iterations were simulated: few do not settle, or cannot be told apart"
    ]
    with pytest.raises(ValueError, match="does not say what its iterations consumed"):
        _ = record.energy_by_iteration
