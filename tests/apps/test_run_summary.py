"""The summary that gridval program run prints of a record."""

import dataclasses
import re
from pathlib import Path

import pytest

from apps.programs.problem import problem
from apps.run import main, summary
from apps.spec.target import Target
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise

JACOBI = Path(__file__).parents[2] / "examples" / "jacobi" / "jacobi.c"


@pytest.fixture
def target():
    platform = materialise(named_grid("grid4x2"))
    return Target(problem("cg", "S"), platform, block(platform, 4))


def test_energy_of_links_is_told(record_of, target):
    record = dataclasses.replace(record_of(target, 1.0, 1.0), link_energy_j={"a": 1.5, "b": 2.0})
    assert re.search(r"^energy .*3\.5 J on 2 links$", summary(record), re.MULTILINE)


def test_a_program_whose_iterations_do_not_settle_is_said(record_of, target, monkeypatch, capsys):
    record = dataclasses.replace(
        record_of(target, 1.0, 1.0),
        identity={"compute": "none"},
        extrapolation=None,
        iterations_basis="they do not repeat",
        cautions=("all iterations were simulated: they do not repeat",),
    )
    monkeypatch.setattr("apps.runs.simulate.simulate", lambda spec, time_limit_s: record)
    program = ["--program", str(JACOBI), "--program-args", "100 {iterations}", "--program-iterations", "10"]
    assert main([*program, "--scenario", "grid4x2"]) == 0
    assert "caution: all iterations were simulated: they do not repeat\n" in capsys.readouterr().err
    with pytest.raises(ValueError, match="no energy per iteration"):
        _ = record.energy_by_iteration
