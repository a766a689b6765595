"""Errors of every package can be sent between processes."""

import pickle
from pathlib import Path

import pytest

from apps.errors import KernelError, NoIterations, SimulationError
from apps.store.database import StoreError
from platforms.errors import Place, PlatformError, UserError
from platforms.files.checked_toml import TomlSource
from predictor.base import OutOfRange
from predictor.blocks.checks import UnknownRequest


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


def test_an_error_keeps_its_class_and_fields_at_another_place_and_in_another_process():
    error = UnknownRequest("/tmp/x/app.toml, label p", "no request 'r' in /tmp/x/app.toml", "Add it", "r")
    for same in (pickle.loads(pickle.dumps(error)), error.at("there"), error.renamed("/tmp/x/", "")):
        assert type(same) is UnknownRequest and same.request == "r"
    assert str(error.at("there")) == "there: no request 'r' in /tmp/x/app.toml. Add it."
    assert str(error.renamed("/tmp/x/", "")) == "app.toml, label p: no request 'r' in app.toml. Add it."


def test_an_error_shows_the_line_of_its_place_and_keeps_the_keys():
    text = "a = 1\n\n[[b]]\nc = 2\n[[b]]\nd = [\n  3,\n  4,\n]\n"
    whole = Place("x.toml", TomlSource("x.toml", text))
    second = whole.inside(", b 2", "b", 1)
    lines = {
        "x.toml": whole, "x.toml:1, a": whole.inside(", a", "a"), "x.toml:3, b": whole.inside(", b", "b"),
        "x.toml:5, b 2": second, "x.toml:8, b 2, d 2": second.inside(", d 2", "d", 1),
        "x.toml:5, b 2, absent": second.inside(", absent", "absent"),  # the line of what is nearest
    }  # fmt: skip
    for shown, place in lines.items():
        error = UserError(place, "wrong", "Change it")
        assert (error.where, error.keys) == (shown, place.keys)
        again = pickle.loads(pickle.dumps(error))
        assert (again.where, again.keys, str(again)) == (shown, place.keys, f"{shown}: wrong. Change it.")
        assert error.at(error.where).where == shown  # the line is there once
