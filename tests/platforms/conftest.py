"""Fixtures of the tests of platforms.  The reader's helper is compiled once, into the user's own cache folder."""

from pathlib import Path

import pytest

DATA = Path(__file__).with_name("data")


@pytest.fixture
def data() -> Path:
    """The folder of hand-written platforms and reference files."""
    return DATA


@pytest.fixture
def lab_file(tmp_path):
    """``lab_file(text, name="lab.toml")``: the path of a new file with that text."""

    def write(text, name="lab.toml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write
