"""The command gridval predictor list."""

import json

from predictor.families import VARIANTS
from predictor.listing import main


def test_every_predictor_is_listed_with_what_it_is(capsys):
    assert main(["--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["predictors"]
    assert [one["predictor"] for one in listed][: len(VARIANTS)] == list(VARIANTS)
    purposes = {one["predictor"]: one["purpose"] for one in listed}
    assert all(purposes.values())
    assert purposes["hcf"] == "Fanfakh's heterogeneous computing factor, corrected"


def test_lines_fit_into_80_columns(capsys):
    assert main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["predictor", "what", "it", "is"]
