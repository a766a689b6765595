"""Recordings of programs: as they are stored, and the files that the recorder writes."""

import tempfile
from contextlib import suppress
from pathlib import Path

from readers.common import seeds

from apps.recording.files import Incomplete, from_bytes, read_events, read_moments, to_bytes

SEEDS = seeds("tests/hostile/corpus/recording*.npz")
WORDS = (
    "PK\x03\x04", "PK\x01\x02", "\x93NUMPY\x01\x00", "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }",
)  # fmt: skip


def read(content: bytes) -> None:
    with suppress(ValueError):
        kept = from_bytes(content)
        assert to_bytes(from_bytes(to_bytes(kept))) == to_bytes(kept)
    with tempfile.TemporaryDirectory(prefix="notes-") as name:
        folder = Path(name)
        for what in ("moments", "events", "counts"):
            (folder / f"0.{what}").write_bytes(content)
        (folder / "communicators").write_bytes(content[:64])
        with suppress(Incomplete):
            read_moments(folder, 1)
        with suppress(Incomplete):
            read_events(folder, 1, measured=False)
