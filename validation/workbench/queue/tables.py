"""The SQLite file of a queue, and connections to it from several threads."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from platforms.errors import UserError

VERSION = 1
_BUSY_S = 20.0
_CACHE_KIB = 512
# The largest numbers of removed rows, which are never given again: an address of something removed shows nothing else.
_USED = "CREATE TABLE IF NOT EXISTS used (kind TEXT PRIMARY KEY, last INTEGER NOT NULL)"
# The values of the runs of suites of applications; a queue of an earlier version gets the table when it is opened.
_POINTS = (
    "CREATE TABLE IF NOT EXISTS points (run INTEGER PRIMARY KEY, suite INTEGER NOT NULL, point TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS points_by_suite ON points (suite)",
)
# What the runs said, and when suites ended; a queue of an earlier version gets them too.
_LOGS = (
    "CREATE TABLE IF NOT EXISTS logs (run INTEGER PRIMARY KEY, suite INTEGER NOT NULL, size INTEGER NOT NULL,"
    " text BLOB NOT NULL)",
    "CREATE INDEX IF NOT EXISTS logs_by_suite ON logs (suite, size)",
    "CREATE TABLE IF NOT EXISTS ends (id INTEGER PRIMARY KEY, suite INTEGER NOT NULL, name TEXT NOT NULL,"
    " owner TEXT NOT NULL, state TEXT NOT NULL, counts TEXT NOT NULL, at_s REAL NOT NULL)",
)
# Saved views of the results; a queue of an earlier version gets the table likewise.
_VIEWS = (
    "CREATE TABLE IF NOT EXISTS views (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, owner TEXT NOT NULL,"
    " created_s REAL NOT NULL, place TEXT NOT NULL, query TEXT NOT NULL)"
)
COSTS = ("evidence_node_s", "evidence_wall_s")  # of results; those of earlier versions have them in their details
_SCHEMA = """
CREATE TABLE suites (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, owner TEXT NOT NULL, created_s REAL NOT NULL, place REAL NOT NULL
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, suite INTEGER NOT NULL REFERENCES suites, number INTEGER NOT NULL,
    platform TEXT NOT NULL, network TEXT, app TEXT NOT NULL, class TEXT, ranks INTEGER NOT NULL,
    mapping TEXT NOT NULL, efficiency TEXT NOT NULL, platform_hash TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'waiting', reason TEXT NOT NULL DEFAULT '', started_s REAL, finished_s REAL
);
CREATE INDEX runs_by_state ON runs (suite, state, number);
CREATE INDEX runs_of_state ON runs (state);
CREATE TABLE results (
    id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, suite INTEGER NOT NULL, platform TEXT NOT NULL,
    network TEXT, app TEXT NOT NULL, class TEXT, ranks INTEGER NOT NULL, mapping TEXT NOT NULL,
    efficiency REAL, predictor TEXT NOT NULL, predicted_s REAL, simulated_s REAL, error_pct REAL, abs_error_pct REAL,
    evidence_share REAL, flags TEXT NOT NULL
);
CREATE TABLE details (result INTEGER PRIMARY KEY REFERENCES results, fields TEXT NOT NULL);
CREATE INDEX results_by_suite ON results (suite);
CREATE INDEX results_by_run ON results (run);
"""


class Tables:
    """The file of a queue; every thread has a connection of its own."""

    def __init__(self, path: Path):
        self._path = path
        self._local = threading.local()
        self._open: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        with self.changing() as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version == 0:
                for statement in _SCHEMA.split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {VERSION}")
            elif version != VERSION:
                remedy = "Use the version of the project that wrote it, or move the file away"
                raise UserError(str(path), f"a queue of format {version}, not {VERSION}", remedy)
            for statement in (_USED, *_POINTS, _VIEWS, *_LOGS):
                connection.execute(statement)
            known = {row["name"] for row in connection.execute("PRAGMA table_info(results)")}
            for column in (column for column in COSTS if column not in known):
                connection.execute(f"ALTER TABLE results ADD COLUMN {column} REAL")
                value = (
                    f"SELECT json_extract(fields, '$.{column}') FROM details WHERE result = id AND json_valid(fields)"
                )
                connection.execute(f"UPDATE results SET {column} = ({value})")

    def next_number(self, kind: str) -> int:
        """Return the number of the next row of a table, which no row has had before."""
        query = f"SELECT max((SELECT coalesce(max(id), 0) FROM {kind}), (SELECT coalesce(max(last), 0) FROM used"
        return int(self.rows(f"{query} WHERE kind = ?)) + 1", (kind,))[0][0])

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection within a transaction, which is undone if the context raises."""
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def rows(self, query: str, values: Sequence[Any] | dict[str, Any] = ()) -> list[sqlite3.Row]:
        """Return all rows of a query; no number beyond those of SQLite is in any row."""
        try:
            return self._connection().execute(query, values).fetchall()
        except OverflowError:
            return []

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            for connection in self._open:
                connection.close()
            self._open.clear()

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            try:
                connection = sqlite3.connect(
                    self._path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False
                )  # one thread uses it, and another one closes it at the end
                connection.row_factory = sqlite3.Row
                connection.execute("PRAGMA journal_mode = WAL")  # readers never wait for a writer
                connection.execute("PRAGMA synchronous = NORMAL")
                connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")  # each thread has a cache
            except sqlite3.DatabaseError as err:
                raise UserError(str(self._path), f"cannot be read: {err}", "Move it away; a new one is made") from err
            self._local.connection = connection
            with self._lock:
                self._open.append(connection)
        return connection
