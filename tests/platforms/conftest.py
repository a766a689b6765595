"""A cache folder of the session's own, so that tests neither use nor fill the user's."""

from pathlib import Path

import pytest

DATA = Path(__file__).with_name("data")


@pytest.fixture
def data() -> Path:
    """The folder of hand-written platforms and reference files."""
    return DATA
