"""Temporary folders and files, on file systems of every kind and beside processes that remove abandoned ones."""

import errno
import fcntl
import os

from platforms.files import locks, scratch


def test_a_file_system_without_locks_is_done_without(monkeypatch, tmp_path):
    def none(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none)
    with scratch.scratch_folder("test", tmp_path) as folder:
        assert folder.is_dir()
    assert not folder.exists()


def test_what_is_swept_before_it_is_locked_is_made_anew(monkeypatch, tmp_path):
    swept = []

    def still_named(handle, path):
        if len(swept) < 2:
            swept.append(path)
            path.rmdir() if path.is_dir() else path.unlink()
        return locks.still_named(handle, path)

    monkeypatch.setattr(scratch, "still_named", still_named)
    with scratch.scratch_folder("test", tmp_path) as folder:
        assert folder.is_dir() and len(swept) == 2 and folder not in swept
    swept.clear()
    with scratch.scratch_file(tmp_path) as (_, path):
        assert path.is_file() and len(swept) == 2 and path not in swept
    assert list(tmp_path.iterdir()) == []
