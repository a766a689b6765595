"""The database of a store."""

import io
import shutil
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from readers.common import file_of, seeds

from apps.store import Store
from apps.store.cli import COMMAND_LIST
from apps.store.database import DATABASE

SEEDS = seeds("tests/hostile/corpus/store*.sqlite")
WORDS = (
    "SQLite format 3\0", "CREATE TABLE entries", "record", "measurement", "probe", "recording", '{"app":"cg"}',
)  # fmt: skip
KEY = "0" * 64


def read(content: bytes) -> None:
    folder = file_of(b"", ".txt").with_name("store")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / DATABASE).write_bytes(content)
    said: list[str] = []
    with Store(folder, report=said.append) as store:
        for entry in store.entries():
            if entry.kind in ("record", "probe"):
                store.get(entry.kind, entry.key)
            store.get_record(entry.identity, inexact=True)
        with redirect_stdout(io.TextIOWrapper(io.BytesIO(), "utf-8")), redirect_stderr(io.StringIO()):
            assert COMMAND_LIST.main(["--store", str(folder)]) in (0, 2)
        store.put("probe", KEY, {"a": 1}, {"b": 2})
        store.sweep()
    assert all("\n" not in line for line in said)


def folder() -> Path:
    """Return the folder of the store."""
    return file_of(b"", ".txt").with_name("store")
