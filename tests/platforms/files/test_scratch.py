"""Temporary folders and files, on file systems of every kind and beside processes that remove abandoned ones."""

import errno
import fcntl
import os
import signal
import tempfile

import pytest

from platforms.files import scratch
from platforms.files.scratch import interrupts_held


def test_a_file_system_without_locks_is_done_without(monkeypatch, tmp_path):
    def none(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", none)
    with scratch.scratch_folder("test", tmp_path) as folder:
        assert folder.is_dir()
    assert not folder.exists()


def test_what_is_swept_before_it_is_locked_is_made_anew(monkeypatch, tmp_path):
    swept, really_named = [], scratch.still_named

    def still_named(handle, path):
        if len(swept) < 2:
            swept.append(path)
            path.rmdir() if path.is_dir() else path.unlink()
        return really_named(handle, path)

    monkeypatch.setattr(scratch, "still_named", still_named)
    with scratch.scratch_folder("test", tmp_path) as folder:
        assert folder.is_dir() and len(swept) == 2 and folder not in swept
    swept.clear()
    with scratch.scratch_file(tmp_path) as (_, path):
        assert path.is_file() and len(swept) == 2 and path not in swept
    assert list(tmp_path.iterdir()) == []


def hangup_after(function):
    """Return the function, followed by a signal that arrives before its caller knows the result."""

    def called(*args, **options):
        result = function(*args, **options)
        os.kill(os.getpid(), signal.SIGHUP)
        return result

    return called


@pytest.fixture
def interrupting():
    """SIGHUP raises KeyboardInterrupt, as in every command."""

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGHUP, interrupt)
    yield interrupt
    assert signal.signal(signal.SIGHUP, before) is interrupt  # it was put back


def test_a_signal_at_the_moment_when_a_folder_is_made_leaves_none(monkeypatch, tmp_path, interrupting):
    monkeypatch.setattr(tempfile, "mkdtemp", hangup_after(tempfile.mkdtemp))
    with pytest.raises(KeyboardInterrupt), scratch.scratch_folder("test", tmp_path):
        raise AssertionError
    assert list(tmp_path.iterdir()) == []


def test_a_signal_while_a_folder_is_removed_leaves_none(monkeypatch, tmp_path, interrupting):
    monkeypatch.setattr(os, "unlink", hangup_after(os.unlink))
    with pytest.raises(KeyboardInterrupt), scratch.scratch_folder("test", tmp_path) as folder:
        for name in ("a", "b"):
            (folder / name).write_text("")
    assert list(tmp_path.iterdir()) == []


def test_signals_wait_until_the_outermost_end(interrupting):
    reached = []
    with pytest.raises(KeyboardInterrupt), interrupts_held():
        with interrupts_held():
            os.kill(os.getpid(), signal.SIGHUP)
            reached.append("inner")
        reached.append("outer")
    assert reached == ["inner", "outer"]
