"""The cache folder: its place, and the error if it cannot be used."""

import os
import pwd
import re

import pytest

from platforms.errors import UserError
from platforms.files import caching


def test_the_cache_is_where_the_variables_say(monkeypatch, tmp_path):
    monkeypatch.delenv("GRID_VALIDATOR_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert caching.cache_folder() == tmp_path / "grid-prediction-validator"

    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # the XDG specification says to ignore it
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert caching.cache_folder() == tmp_path / "home" / ".cache" / "grid-prediction-validator"
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", "~/mine")
    assert caching.cache_folder() == tmp_path / "home" / "mine"
    monkeypatch.setenv("GRID_VALIDATOR_CACHE", "mine")
    monkeypatch.chdir(tmp_path)
    assert caching.cache_folder() == tmp_path / "mine"


@pytest.mark.parametrize("own", ["", "~/mine", "~no-such-user/mine"])
def test_without_a_home_folder_one_line_says_so(monkeypatch, own):
    def unknown(_):
        raise KeyError

    monkeypatch.setenv("GRID_VALIDATOR_CACHE", own)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    for function in ("getpwuid", "getpwnam"):
        monkeypatch.setattr(pwd, function, unknown)
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
