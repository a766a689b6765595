"""The command gridval predictor list."""

import json

from predictor.listing import main
from predictor.registry import NOT_IN_ALL, PREDICTORS


def test_every_predictor_is_listed_with_what_it_is(capsys):
    assert main(["--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["predictors"]
    assert {one["predictor"] for one in listed} >= {*PREDICTORS, *NOT_IN_ALL}
    purposes = {one["predictor"]: one["purpose"] for one in listed}
    assert all(purposes.values())
    assert purposes["hcf"] == "HCF, the heterogeneous computing factor"
    assert "eq. (3), with counted operations" in purposes["hierarchical"]  # not cut off at the abbreviation


def test_lines_fit_into_80_columns(capsys):
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["predictor", "what", "it", "is"]
