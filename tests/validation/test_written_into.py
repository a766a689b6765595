"""Results that cannot be written are said with the option that named the folder."""

import errno
import os

import pandas as pd
import pytest

from platforms import writing
from platforms.errors import UserError
from platforms.writing import written_into
from validation.regimes.output import _write


def full(*_, **__):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_is_said_with_its_option(tmp_path):
    with pytest.raises(UserError) as error, written_into("--out", tmp_path):
        full()
    assert str(error.value) == f"--out {tmp_path}: cannot be written: No space left on device. Choose another folder."


def test_so_is_a_file_that_stands_in_the_way(tmp_path):
    (tmp_path / "table.csv").mkdir()
    with pytest.raises(UserError, match="cannot be written: Is a directory"), written_into("--out", tmp_path):
        writing.write_csv(pd.DataFrame({"a": [1]}), tmp_path / "table.csv")


def test_tables_of_a_sweep_are_written_so(tmp_path, monkeypatch):
    monkeypatch.setattr("validation.regimes.output.write_csv", full)
    with pytest.raises(UserError, match=r"--out .*: cannot be written: No space"):
        _write({"results": pd.DataFrame({"app": []})}, {}, tmp_path)
