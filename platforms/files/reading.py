"""Read user files with a limit on size and on waiting time; refuse devices and folders."""

from __future__ import annotations

import errno
import os
import select
import stat
from pathlib import Path

MOST_BYTES = 64 << 20  # of a file, unless its reader sets another limit
PATIENCE_S = 10.0  # longest wait for the next bytes from a pipe
_CHUNK_BYTES = 1 << 20


def input_bytes(path: str | Path, *, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the content of a file or a pipe.

    Raises:
        OSError: The file cannot be read, is a device or a folder, has an impossible name, is a pipe without data for
            PATIENCE_S, or is longer than ``most_bytes``; ``strerror`` gives the reason.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as err:  # the name has a zero byte or an unpaired surrogate
        raise OSError(errno.EINVAL, "no file can have such a name", str(path)) from err
    try:
        status = os.fstat(handle)
        mode = status.st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise OSError(errno.EINVAL, "a device, not a file", str(path))
        too_large = OSError(errno.EFBIG, f"larger than {most_bytes / (1 << 20):g} MiB", str(path))
        if status.st_size > most_bytes:
            raise too_large
        chunks, read_bytes, waiting = [], 0, stat.S_ISFIFO(mode)
        while chunk := _chunk(handle, str(path), max(_CHUNK_BYTES, status.st_size), waiting=waiting):
            chunks.append(chunk)
            read_bytes += len(chunk)
            if read_bytes > most_bytes:
                raise too_large
    finally:
        os.close(handle)
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


def input_text(path: str | Path, *, most_bytes: int = MOST_BYTES, encoding: str = "utf-8") -> str:
    r"""Return the content of a file or a pipe as text, with all line ends replaced by ``\n``.

    Raises:
        OSError: As input_bytes.
        UnicodeDecodeError: The content is not text in this encoding.
    """
    text = input_bytes(path, most_bytes=most_bytes).decode(encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _chunk(handle: int, path: str, most_bytes: int, *, waiting: bool) -> bytes:
    """Return the next bytes, or no bytes at the end of the file."""
    if waiting:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        if not poll.poll(PATIENCE_S * 1e3):
            raise OSError(errno.ETIMEDOUT, f"a pipe that nobody writes to for {PATIENCE_S:g} s", path)
    return os.read(handle, most_bytes)
