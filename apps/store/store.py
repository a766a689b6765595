"""The store: finished work under the hash of what decides it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from types import UnionType
from typing import Any

from apps.identity import canonical, identity_hash
from apps.record import RunRecord
from apps.store import claims, database, payloads
from apps.store.codec import DoesNotFit, as_fields, from_fields
from apps.store.database import Damaged, StoreError, is_damage, open_database, transaction
from platforms.caching import cache_folder
from platforms.errors import printable
from platforms.reading import input_bytes

# "record": a simulated run.  "measurement": a run whose times come from a real machine.
KINDS = ("record", "measurement", "trace", "calibration", "fit")
_MOST_BYTES = 4 << 30  # of a payload
FILE_BYTES = 256 * 1024  # a payload above this is a file beside the database


@dataclass(frozen=True)
class Entry:
    """What is known of a stored payload without reading it."""

    kind: str
    key: str
    identity: dict[str, Any]
    summary: str  # a few words for lists
    created_s: float  # seconds since 1970, UTC
    size_bytes: int  # of the payload, as it is kept


def is_exact(record: RunRecord) -> bool:
    """Whether running it again gives the same record to the last digit, machine times apart."""
    return record.source == "simulation" and record.identity.get("compute") != "measured"


def warn(text: str) -> None:
    """One line on standard error."""
    print(f"warning: {text}", file=sys.stderr)


class Store:
    """Finished work in a folder: a database, and large payloads as files beside it.

    Any number of processes and threads may use one folder at a time.  A store may be passed on to forked processes,
    and pickled: it is its folder (the other end reports by ``warn``).

    Opening fails with StoreError where the folder cannot be used, before any work is done.  Once open, the store is a
    help and no condition: a payload that cannot be read counts as unknown, one that cannot be written (disk full,
    permissions, locked for too long) is not kept, and either is reported in one line, once.  A damaged database is
    reported and set aside under another name, and a new one begun.  ``read_only`` changes nothing at all: there
    must be a store, and damage is a StoreError.
    """

    def __init__(self, path: Path | None = None, *, read_only: bool = False, report: Callable[[str], None] = warn):
        """``path``: the store's folder, made if absent; None: ``store`` in the user's cache folder."""
        self.folder = Path(path).absolute() if path is not None else cache_folder() / "store"
        self._read_only = read_only
        self._report_line = report
        self._reported: set[str] = set()
        self._connect()

    def get(self, kind: str, key: str) -> dict[str, Any] | None:
        """The payload; None if there is none, or none that is whole, or one that was put as bytes.

        Raises StoreError only where the database is found to be damaged and cannot be set aside.
        """
        found = self._read(kind, key)
        return None if found is None else found[1]

    def get_bytes(self, kind: str, identity: dict[str, Any]) -> bytes | None:
        """What ``put_bytes`` kept under this identity; None as in ``get``."""
        found = self._read(kind, identity_hash(identity), binary=True)
        return found[1] if found is not None and found[0] == canonical(identity) else None

    def put(self, kind: str, key: str, identity: dict[str, Any], payload: dict[str, Any], *, summary: str = "") -> bool:
        """Keeps a payload of JSON values (or dataclasses of them), in place of what the kind and key had before.

        When this returns True the payload is on the disk.  False: it could not be kept, which has been reported.
        """
        content = json.dumps(payload, separators=(",", ":"), default=as_fields).encode("ascii")
        inline = content.decode("ascii") if len(content) <= FILE_BYTES else None
        return self._put(kind, key, identity, content, inline, summary, binary=False)

    def put_bytes(self, kind: str, identity: dict[str, Any], content: bytes, *, summary: str = "") -> bool:
        """Keeps bytes that are no JSON under their identity, always in a file of their own; otherwise as ``put``."""
        return self._put(kind, identity_hash(identity), identity, content, None, summary, binary=True)

    def _put(
        self,
        kind: str,
        key: str,
        identity: dict[str, Any],
        content: bytes,
        inline: str | None,
        summary: str,
        *,
        binary: bool,
    ) -> bool:
        _check_kind(kind)
        if self._read_only:
            raise ValueError("a store that was opened for reading only")
        digest = hashlib.sha256(content).hexdigest()
        row = (kind, key, canonical(identity), summary, time.time(), len(content), digest, inline)
        try:
            with self._locked():
                for _ in range(3):  # again where the database has been set aside, by us or by another
                    self._follow()
                    try:
                        self._insert(row, content if inline is None else None, binary=binary)
                    except (sqlite3.DatabaseError, UnicodeDecodeError) as err:
                        if not is_damage(err):
                            raise
                        self._begin_anew(str(err))
                        continue
                    if database.file_id(self.folder) == self._file_id:
                        return True
                self._report(f"store {self.folder}: keeps being replaced. A result is used but not kept.")
        except (OSError, sqlite3.Error, StoreError) as err:
            self._report(f"store {self.folder}: {_reason(err)}. A result is used but not kept.")
        return False

    def get_record(self, identity: dict[str, Any], *, inexact: bool = False) -> RunRecord | None:
        """The record of a run; None if it is not known here, or was written with other fields than it has now.

        Only what is exact is returned (see ``is_exact``), unless ``inexact`` asks for what repeats approximately too;
        that it was reused is then reported.
        """
        key, asked = identity_hash(identity), canonical(identity)
        for kind in ("record", "measurement") if inexact else ("record",):
            found = self._read(kind, key)
            if found is None or found[0] != asked:
                continue
            try:
                record = from_fields(RunRecord, {"identity": deepcopy(identity), **found[1]})
            except DoesNotFit:
                continue
            if is_exact(record):
                return record
            if inexact:
                self._report(f"{kind} {key} from the store is used again: it repeats only approximately.")
                return record
        return None

    def put_record(self, record: RunRecord) -> bool:
        """Keeps a record under its identity; a measured one does not take the place of a simulated one."""
        payload = as_fields(record)
        identity = payload.pop("identity")
        kind = "record" if record.source == "simulation" else "measurement"
        return self.put(kind, identity_hash(identity), identity, payload, summary=f"{record.time_s:.6g} s")

    def claim(self, kind: str, key: str) -> claims.Claim | None:
        """That this process is about to make an entry, until the context is left; None: another is making it."""
        _check_kind(kind)
        return claims.claim(self.folder, kind, key)

    def entries(self) -> list[Entry]:
        """Everything in the store, oldest first.  Raises StoreError where it cannot be read."""
        rows = self._ask(
            "SELECT kind, key, identity, summary, created_s, size_bytes FROM entries ORDER BY created_s, key"
        )
        return [
            Entry(kind, key, _json_object(identity) or {}, *rest)
            for kind, key, identity, *rest in rows
            if _are((kind, key, identity, *rest), str, str, str, str, float, int)
        ]

    def remove(self, entries: Sequence[Entry]) -> None:
        """Forgets entries; those written anew since they were listed stay.  ``sweep`` then removes their files.

        Raises StoreError.
        """
        with self._changing():
            self._connection.executemany(
                "DELETE FROM entries WHERE kind = ? AND key = ? AND created_s = ?",
                [(entry.kind, entry.key, entry.created_s) for entry in entries],
            )
        with self._locked(), contextlib.suppress(sqlite3.OperationalError):  # busy or full: the space is reused later
            self._connection.execute("VACUUM")

    def sweep(self, *, dry_run: bool = False) -> list[tuple[Path, int]]:
        """Removes the files that no entry names any more, and returns them with their bytes.  Raises StoreError."""
        with self._changing():
            rows = self._connection.execute("SELECT sha256 FROM entries WHERE payload IS NULL").fetchall()
            files = payloads.unnamed(self.folder, {digest for (digest,) in rows})
            if not dry_run:
                for path, _ in files:
                    path.unlink(missing_ok=True)
        return files

    def close(self) -> None:
        """Lets go of the database; the store is not to be used afterwards."""
        with self._locked():
            self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[..., Store], tuple[Path, bool]]:
        return _reopened, (self.folder, self._read_only)

    def _connect(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._open()
        if not self._read_only:
            payloads.remove_abandoned(self.folder)
            claims.remove_abandoned(self.folder)

    def _open(self) -> None:
        for _ in range(3):
            try:
                before = database.file_id(self.folder)
                self._connection = open_database(self.folder, read_only=self._read_only)
            except Damaged as err:
                self._set_aside(before, str(err))
                continue
            except OSError as err:
                raise StoreError(self.folder, _reason(err)) from err
            self._file_id = before or database.file_id(self.folder)
            return
        raise StoreError(self.folder, "is damaged again as soon as it is made")

    def _begin_anew(self, reason: str) -> None:
        """Sets the open database aside and opens a new one."""
        self._connection.close()
        self._set_aside(self._file_id, reason)
        self._open()

    def _set_aside(self, damaged: tuple[int, int] | None, reason: str) -> None:
        if self._read_only:
            raise StoreError(self.folder, f"it is damaged: {reason}", "The next run sets it aside and begins a new one")
        try:
            name = database.set_aside(self.folder, damaged)
        except OSError as err:
            raise StoreError(self.folder, f"it is damaged and cannot be set aside: {err.strerror}") from err
        if name is not None:
            self._report(f"store {self.folder}: damaged ({reason}). Set aside as {name}, a new one is begun.")

    def _follow(self) -> None:
        """Opens the database again if its file is no longer the one that is open."""
        if database.file_id(self.folder) != self._file_id:
            self._connection.close()
            self._open()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        if self._pid != os.getpid():
            # Forked: SQLite's connections and a lock that may be held must not be used here, nor be closed.
            self._parents = (getattr(self, "_parents", None), self._connection)
            self._connect()
        with self._lock:
            yield

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """A transaction whose failure is the user's business."""
        try:
            with self._locked():
                self._follow()
                with transaction(self._connection):
                    yield
        except (OSError, sqlite3.Error) as err:
            raise StoreError(self.folder, _reason(err), "Look at its folder") from err

    def _ask(self, query: str) -> list[tuple[Any, ...]]:
        """All rows of a query.  Raises StoreError."""
        with self._locked():
            try:
                return self._connection.execute(query).fetchall()
            except (sqlite3.DatabaseError, UnicodeDecodeError) as err:
                if not is_damage(err):
                    raise StoreError(self.folder, _reason(err)) from err
                self._begin_anew(str(err))
                return []

    def _insert(self, row: tuple[Any, ...], content: bytes | None, *, binary: bool) -> None:
        with contextlib.ExitStack() as stack:
            temporary = None
            if content is not None:
                temporary = stack.enter_context(payloads.temporary_file(self.folder, content))
            with transaction(self._connection):
                if temporary is not None:
                    payloads.publish(self.folder, temporary, row[6], binary=binary)
                self._connection.execute("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _read(self, kind: str, key: str, *, binary: bool = False) -> tuple[str, Any] | None:
        """The identity as its canonical text, and the payload, checked: a dict, or bytes where ``binary``."""
        _check_kind(kind)
        row = self._row(kind, key)
        if row is None:
            return None
        try:
            return self._checked(*row, binary=binary)
        except (OSError, ValueError) as err:
            again = self._row(kind, key)
            if again is not None and again != row:  # replaced and swept while we were reading
                with contextlib.suppress(OSError, ValueError):
                    return self._checked(*again, binary=binary)
            if again is not None:
                self._report(f"store {self.folder}: {kind} {key} is damaged ({_reason(err)}). It counts as unknown.")
            return None

    def _row(self, kind: str, key: str) -> tuple[Any, ...] | None:
        query = "SELECT identity, sha256, payload FROM entries WHERE kind = ? AND key = ?"
        with self._locked():
            try:
                rows = self._connection.execute(query, (kind, key)).fetchall()
            except (sqlite3.DatabaseError, UnicodeDecodeError) as err:
                rows = []
                if is_damage(err):
                    self._begin_anew(str(err))
                else:
                    self._report(f"store {self.folder}: {_reason(err)}. What it knows is not used.")
        return rows[0] if rows else None

    def _checked(
        self, identity: str, digest: str, inline: str | None, *, binary: bool
    ) -> tuple[str, dict[str, Any] | bytes] | None:
        """None for the other sort of payload.

        Raises OSError and ValueError for what is not, or no longer, what was written.
        """
        if not _are((identity, digest, inline), str, str, str | None):
            raise ValueError("its row is broken")
        if binary and inline is not None:
            return None
        if inline is None and payloads.payload_path(self.folder, digest, binary=not binary).exists():
            return None
        path = payloads.payload_path(self.folder, digest, binary=binary)
        content = input_bytes(path, most_bytes=_MOST_BYTES) if inline is None else inline.encode()
        if hashlib.sha256(content).hexdigest() != digest:
            raise ValueError("its content has changed")
        if binary:
            return identity, content
        payload = _json_object(content)
        if payload is None:
            raise ValueError("not a JSON object")
        return identity, payload

    def _report(self, text: str) -> None:
        text = printable(text)
        if text not in self._reported:
            self._reported.add(text)
            self._report_line(text)


def _reopened(folder: Path, read_only: bool) -> Store:
    return Store(folder, read_only=read_only)


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise ValueError(f"no such kind of entry: {kind!r}")


def _are(values: Sequence[Any], *types: type | UnionType) -> bool:
    """SQLite does not promise that a column holds what it is declared to hold."""
    return all(isinstance(value, kind) for value, kind in zip(values, types, strict=True))


def _json_object(text: str | bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _reason(err: Exception) -> str:
    """What went wrong, without the full stop."""
    return (getattr(err, "problem", None) or getattr(err, "strerror", None) or str(err)).rstrip(".")
