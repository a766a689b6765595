"""Machines of this computer: two ranks under Open MPI, and hosts of other names that only root can have."""

from pathlib import Path

import pytest

from apps.machines.machine_file import read_machine
from tests.machines import NO_MPI, open_mpi

EXAMPLES = Path(__file__).parents[3] / "examples" / "machines"


@pytest.fixture(scope="session")
def local():
    """This computer, as examples/machines/local.toml describes it."""
    if not open_mpi():
        pytest.skip(NO_MPI)
    return read_machine(EXAMPLES / "local.toml")


@pytest.fixture
def named(named_file):
    return read_machine(named_file)
