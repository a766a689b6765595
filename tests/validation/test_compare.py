"""What predictions cannot be compared with."""

import pytest

from apps.catalog import problem
from apps.spec import Target
from platforms.errors import UserError
from platforms.placement import block
from platforms.read import materialise
from platforms.scenario import named_grid
from validation.compare import _check_time
from validation.truth import read_measured


@pytest.fixture
def target():
    platform = materialise(named_grid("grid4x2"))
    return Target(problem("cg", "S"), platform, block(platform, 4))


def test_a_run_that_takes_no_time_has_no_errors(record_of, target):
    with pytest.raises(UserError, match="cg S on 4 ranks of grid4x2: takes no time at all"):
        _check_time(record_of(target, 0.0, 0.0), target)


def test_measured_times_that_are_not_there_are_said(tmp_path):
    with pytest.raises(UserError, match=r"--truth .*none\.csv: cannot be read: No such file"):
        read_measured(tmp_path / "none.csv")
