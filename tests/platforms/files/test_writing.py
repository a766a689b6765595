"""Errors of writing results name the option that gave the place."""

import errno
import os

import pandas as pd
import pytest

from platforms.errors import UserError
from platforms.files import writing
from platforms.files.writing import written_into


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("place", ["/dev/null", __file__])
def test_what_is_no_folder_is_said_to_be_none(place):
    with pytest.raises(UserError, match=f"--out {place}: not a folder"):
        writing.usable_folder("--out", place)


def test_a_full_disk_is_said_with_its_option(tmp_path):
    with pytest.raises(UserError) as error, written_into("--out", tmp_path):
        full()
    assert str(error.value) == f"--out {tmp_path}: cannot be written: No space left on device. Choose another folder."


def test_so_is_a_file_that_stands_in_the_way(tmp_path):
    (tmp_path / "table.csv").mkdir()
    with pytest.raises(UserError, match="cannot be written: Is a directory"), written_into("--out", tmp_path):
        writing.write_csv(pd.DataFrame({"a": [1]}), tmp_path / "table.csv")
