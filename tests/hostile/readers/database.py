"""The database of a store."""

import shutil
from pathlib import Path

from readers.common import file_of, seeds

from apps.store import Store
from apps.store.cli import _LIST_HEADER, _line, chosen
from apps.store.database import DATABASE

SEEDS = seeds("tests/hostile/corpus/store*.sqlite")
WORDS = (
    "SQLite format 3\0", "CREATE TABLE entries", "record", "measurement", "trace", '{"app":"cg"}',
)  # fmt: skip
KEY = "0" * 64


def read(content: bytes) -> None:
    folder = file_of(b"", ".txt").with_name("store")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / DATABASE).write_bytes(content)
    said: list[str] = []
    with Store(folder, report=said.append) as store:
        for entry in chosen(store.entries()):
            assert len(_line(entry)) == len(_LIST_HEADER)
            if entry.kind in ("record", "fit"):
                store.get(entry.kind, entry.key)
            store.get_record(entry.identity, inexact=True)
        store.put("fit", KEY, {"a": 1}, {"b": 2})
        store.sweep()
    assert all("\n" not in line for line in said)


def folder() -> Path:
    """Where the store is."""
    return file_of(b"", ".txt").with_name("store")
