"""Pictures that a user names."""

import errno
import re

import pytest

from platforms.errors import UserError
from platforms.plotting import pictures


def test_a_picture_that_does_not_fit_on_the_disk_is_said(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pictures, "save_figure", full)
    with pytest.raises(UserError, match=re.escape("one.png: cannot be written: No space left on device")):
        pictures.write_picture("--picture", tmp_path / "one.png", None)
