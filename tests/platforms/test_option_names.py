"""SimGrid's options under the names of SMPI, which are other options before version 3.34."""

import pytest

from platforms.simgrid import installed
from platforms.simgrid.installed import under_smpi_names

NAMES = ("smpi/lat-factor", "network/latency-factor")


@pytest.fixture
def version(monkeypatch):
    return lambda *numbers: monkeypatch.setattr(installed, "version_numbers", lambda: numbers)


def test_up_to_3_32_the_factors_of_other_models_are_no_factors_of_smpi(version):
    version(3, 32)
    options = {"network/latency-factor": "2", "smpi/bw-factor": "0.5"}
    assert under_smpi_names(options) == options


def test_from_3_34_on_both_names_are_one_option(version):
    version(3, 34)
    options = {"network/latency-factor": "2", "network/bandwidth-factor": "0.5", "smpi/os": "0:1:0"}
    assert under_smpi_names(options) == {"smpi/lat-factor": "2", "smpi/bw-factor": "0.5", "smpi/os": "0:1:0"}


@pytest.mark.parametrize("names", [NAMES, NAMES[::-1]])
def test_of_both_names_the_later_one_counts(version, names):
    version(4, 1)
    first, later = names
    assert under_smpi_names({first: "2", later: "3"}) == {"smpi/lat-factor": "3"}
