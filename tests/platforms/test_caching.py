"""The cache folder: where it is, and what is said where it cannot be."""

import os
import re
from pathlib import Path

import pytest

from platforms import caching
from platforms.errors import UserError


def test_the_cache_is_where_the_variables_say(monkeypatch, tmp_path):
    monkeypatch.delenv("GRID_VALIDATOR_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert caching.cache_folder() == tmp_path / "grid-prediction-validator"

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says the XDG specification
    monkeypatch.setattr(Path, "home", homeless)
    with pytest.raises(UserError, match=re.escape("there is no home folder. Set GRID_VALIDATOR_CACHE")):
        caching.cache_folder()


def test_a_cache_that_cannot_be_written_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "access", lambda path, how: False)
    with pytest.raises(UserError, match=re.escape(f"cache folder {tmp_path}: cannot be used: it is not writable")):
        caching.cache_folder()
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=re.escape("cannot be used: Not a directory. Set GRID_VALIDATOR_CACHE")):
        caching.write_atomically(tmp_path / "file" / "more" / "x", b"")
