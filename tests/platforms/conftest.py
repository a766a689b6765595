"""Fixtures of the tests of platforms.  The reader's helper is compiled once, into the user's own cache folder."""

from pathlib import Path

import pytest

DATA = Path(__file__).with_name("data")


@pytest.fixture
def data() -> Path:
    """The folder of hand-written platforms and reference files."""
    return DATA
