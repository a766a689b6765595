"""The SQLite file of a store: opening, checks, migration, and setting it aside when it is damaged.

The database uses SQLite's rollback journal, not the write-ahead log.  The write-ahead log keeps its index in shared
memory that all processes map, which network file systems do not support, and home folders of a cluster are usually on
such a file system.  The rollback journal needs only file locks.  Transactions are short, so one writer at a time is no
loss.  ``synchronous=FULL`` makes a commit survive a power cut, not only kill -9.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from apps.store.payloads import FOLDER as PAYLOADS
from platforms.errors import UserError

DATABASE = "store.sqlite"
BUSY_TIMEOUT_S = 60.0
_APPLICATION_ID = 0x47505653  # marks the SQLite file as a store
# The statements that migrate a store from version i to i + 1; version 0 is an empty file.
_MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE entries (
            kind TEXT NOT NULL,
            key TEXT NOT NULL,
            identity TEXT NOT NULL,
            summary TEXT NOT NULL,
            created_s REAL NOT NULL,
            size_bytes INTEGER NOT NULL,
            sha256 TEXT NOT NULL,
            payload TEXT,
            PRIMARY KEY (kind, key)
        )""",
    ),
)
SCHEMA_VERSION = len(_MIGRATIONS)
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_TOOBIG}


class StoreError(UserError):
    """A store that cannot be used, with its folder, the problem and the remedy."""

    def __init__(self, folder: Path, problem: str, remedy: str = "Name another folder with --store, or use --no-store"):
        super().__init__(f"store {folder}", problem, remedy)


class Damaged(Exception):
    """A database file that is not, or no longer, a store."""


def is_damage(err: sqlite3.Error | UnicodeDecodeError) -> bool:
    """Return whether the error means a broken file, and not a busy, full or forbidden one.

    A UnicodeDecodeError means a broken file, because SQLite's message quotes the file's content.
    """
    if isinstance(err, UnicodeDecodeError):
        return True
    code = getattr(err, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _DAMAGE


def file_id(folder: Path) -> tuple[int, int] | None:
    """Return the device and inode number of the store's database file; None if there is no file."""
    try:
        status = os.stat(folder / DATABASE)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def open_database(folder: Path, *, read_only: bool) -> sqlite3.Connection:
    """Return a connection to a checked store of the current version, created or migrated if necessary.

    ``read_only`` neither creates nor migrates, and needs only permission to read.

    Raises:
        StoreError: The folder cannot be used, or the database belongs to another program or a newer version.
        Damaged: The file is broken.
    """
    path = folder / DATABASE
    _check_place(folder, path, read_only=read_only)
    mode = ("rw" if os.access(path, os.W_OK) else "ro") if read_only else "rwc"
    connection = None
    try:
        connection = sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=BUSY_TIMEOUT_S,
            isolation_level=None,  # transactions begin explicitly
            check_same_thread=False,  # Store has its own lock
        )
        connection.text_factory = _text
        connection.execute("PRAGMA synchronous=FULL")
        _check_version(connection, folder, read_only=read_only)
        if not set(_expected_schema()) <= set(_schema(connection)):  # a user may have added tables
            raise Damaged("its tables are not those of a store")
    except BaseException as err:
        if connection is not None:
            connection.close()
        if not isinstance(err, sqlite3.DatabaseError | UnicodeDecodeError):
            raise
        if isinstance(err, UnicodeDecodeError) or is_damage(err):
            raise Damaged(str(err)) from err
        if err.sqlite_errorcode == sqlite3.SQLITE_ERROR:  # an unknown file format
            raise Damaged(str(err)) from err
        raise StoreError(folder, f"cannot be opened: {err}") from err
    return connection


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit the context's statements as one transaction; wait up to BUSY_TIMEOUT_S for other writers."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def set_aside(folder: Path, damaged: tuple[int, int] | None) -> str | None:
    """Rename the damaged database together with its payloads, and return the database's new name.

    Returns:
        The new name, or None if another process has already done so.

    Raises:
        OSError: A file cannot be renamed.
    """
    with _exclusive(folder / "lock"):
        if damaged is None or file_id(folder) != damaged:
            return None
        number = 1
        while any(os.path.lexists(folder / f"{name}.corrupt-{number}") for name in (DATABASE, PAYLOADS)):
            number += 1
        # The journal first: if it stayed, SQLite would play it back into the new database.  The database last:
        # its presence shows the next process that there is something to set aside.
        for name in (f"{DATABASE}-journal", PAYLOADS, DATABASE):
            with contextlib.suppress(FileNotFoundError):
                os.rename(folder / name, folder / f"{name}.corrupt-{number}")
        return f"{DATABASE}.corrupt-{number}"


def _check_place(folder: Path, path: Path, *, read_only: bool) -> None:
    if read_only:
        if not path.is_file():
            raise StoreError(folder, "there is no store here", "Name an existing one with --store")
        if not os.access(path, os.R_OK):
            raise StoreError(folder, f"{DATABASE} may not be read")
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise StoreError(folder, "it is a file, and a store is a folder") from None
    except OSError as err:
        raise StoreError(folder, f"it cannot be created: {err.strerror}") from err
    if not os.access(folder, os.W_OK | os.X_OK) or (path.exists() and not os.access(path, os.R_OK | os.W_OK)):
        raise StoreError(folder, "it is not writable")


def _check_version(connection: sqlite3.Connection, folder: Path, *, read_only: bool) -> None:
    version = _version(connection, folder)
    if version == SCHEMA_VERSION:
        return
    if read_only:
        raise StoreError(folder, f"its schema, version {version}, is not up to date", "Let a run open it for writing")
    with transaction(connection):
        for step in _MIGRATIONS[_version(connection, folder) :]:  # read again: another process may have migrated it
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")


def _version(connection: sqlite3.Connection, folder: Path) -> int:
    """Return the schema version.  Raise StoreError for the file of another program or of a newer version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != _APPLICATION_ID and (application or version or _schema(connection)):
        raise StoreError(folder, f"{DATABASE} is the database of another program")
    if not 0 <= version <= SCHEMA_VERSION:
        raise StoreError(
            folder,
            f"it was written by a newer version of this project (schema {version}, known here: {SCHEMA_VERSION})",
            "Update this project, or name another folder with --store",
        )
    return version


def _schema(connection: sqlite3.Connection) -> list[tuple[Any, ...]]:
    return connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()


@cache
def _expected_schema() -> list[tuple[Any, ...]]:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        for step in _MIGRATIONS:
            for statement in step:
                connection.execute(statement)
        return _schema(connection)


@contextlib.contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    with open(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _text(content: bytes) -> str:
    """Decode without errors: text that is damaged fails its checksum later."""
    return content.decode("utf-8", "replace")
