"""Every emulated grid has a processor of its own."""

import os

import pytest

from apps.emulate import running
from apps.emulate.running import own_processor
from platforms.errors import UserError


@pytest.fixture(autouse=True)
def two_processors(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    monkeypatch.setattr(running, "PATIENCE_S", 0.0)
    monkeypatch.setattr(running, "cache_folder", lambda: tmp_path)


def test_grids_take_processors_from_the_last_on_until_all_are_taken():
    with own_processor(None) as first, own_processor(None) as second:
        assert (first, second) == (1, 0)
        with pytest.raises(UserError, match="another one runs on every processor"), own_processor(None):
            pass
    with own_processor(None) as again:
        assert again == 1


def test_a_processor_that_is_asked_for_is_not_shared():
    with own_processor(0) as number:
        assert number == 0
        with pytest.raises(UserError, match="another one runs on processor 0"), own_processor(0):
            pass
