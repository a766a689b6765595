"""Errors of every package can be sent between processes."""

import pickle
from pathlib import Path

import pytest

from apps.errors import KernelError, NoIterations, SimulationError
from apps.store.database import StoreError
from platforms.errors import PlatformError, UserError
from predictor.base import OutOfRange


@pytest.mark.parametrize("kind", [UserError, PlatformError, KernelError, NoIterations, OutOfRange])
def test_an_error_arrives_whole_from_another_process(kind):
    error = kind("here", "wrong", "Change it")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and str(again) == str(error) == "here: wrong. Change it."
    assert (again.where, again.problem, again.remedy) == ("here", "wrong", "Change it")


def test_errors_of_a_store_and_of_a_simulation_arrive_whole():
    error = pickle.loads(pickle.dumps(StoreError(Path("/x"), "full", "Make room")))
    assert type(error) is StoreError and str(error) == "store /x: full. Make room."
    error = SimulationError("it hangs", "what it said")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.log) == (SimulationError, "it hangs", "what it said")
