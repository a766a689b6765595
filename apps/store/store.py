"""The store: finished results under a hash of the inputs that determine them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import UnionType
from typing import Any

from apps.results.inputs import Inputs, from_json
from apps.results.record import RunRecord
from apps.store import claims, database, payloads
from apps.store.codec import DoesNotFit, as_fields, from_fields
from apps.store.database import Damaged, StoreError, is_damage, open_database, transaction
from apps.store.entries import IS_ENTRY, KIND_COLUMN, KINDS, Entry
from apps.store.identity import INPUTS, canonical, identity_hash, is_users, without_inputs
from platforms.errors import printable
from platforms.files.caching import cache_folder
from platforms.files.reading import input_bytes

_MOST_BYTES = 4 << 30  # largest payload
FILE_BYTES = 256 * 1024  # a larger payload is a file beside the database


def is_exact(record: RunRecord) -> bool:
    """Return whether repeating the run gives the same record to the last digit, except for wall times."""
    if record.identity.get("compute") == "measured":
        return record.timed is not None and record.timed.replayed and record.timed.kept
    return record.source == "simulation"


def warn(text: str) -> None:
    """Print a warning of one line on standard error."""
    print(f"warning: {text}", file=sys.stderr)


class Store:
    """Finished results in a folder: a database, and large payloads as files beside it.

    Any number of processes and threads may use one folder at the same time.  A store may be inherited by forked
    processes and may be pickled; a pickled store is opened again from its folder and reports by ``warn``.

    Opening a folder that cannot be used fails with StoreError, before any work is done.  Once open, the store never
    stops a run: a payload that cannot be read counts as unknown, a payload that cannot be written (disk full,
    permissions, locked for too long) is not kept, and either is reported once, in one line.  A damaged database is
    reported and set aside under another name, and a new one is begun.  A store opened ``read_only`` changes nothing:
    the folder must have a store, and damage raises StoreError.
    """

    def __init__(self, path: Path | None = None, *, read_only: bool = False, report: Callable[[str], None] = warn):
        """Open the store.

        Args:
            path: The store's folder, created if absent; None: ``store`` in the user's cache folder.
            read_only: Change nothing.
            report: Called with each warning.

        Raises:
            StoreError: The folder cannot be used.
        """
        self.folder = Path(path).absolute() if path is not None else cache_folder() / "store"
        self._read_only = read_only
        self._report_line = report
        self._reported: set[str] = set()
        self._other_fields: set[str] = set()  # kinds of which an entry with other fields was reported
        self._connect()

    def get(self, kind: str, key: str) -> dict[str, Any] | None:
        """Return the payload; None if there is none, if it is damaged, or if it was stored as bytes.

        Raises:
            StoreError: The database is damaged and cannot be set aside.
        """
        payload = self._read(kind, key)
        return None if payload is None else payload[1]

    def get_bytes(self, kind: str, identity: dict[str, Any]) -> bytes | None:
        """Return the bytes that ``put_bytes`` stored under this identity; None as in ``get``.

        They are returned whether or not the inputs have changed; see ``unchanged``.
        """
        asked = without_inputs(identity)
        payload = self._read(kind, identity_hash(asked), binary=True)
        return payload[1] if payload is not None and _is_asked(payload[0], asked) else None

    def unchanged(self, kind: str, identity: dict[str, Any]) -> bool:
        """Return whether a stored result may be used again: all inputs of a user's program are unchanged."""
        row = self._row(kind, identity_hash(identity))
        stored = None if row is None else _json_object(row[0])
        if stored is None:
            return False
        inputs = from_json(stored.get(INPUTS))
        return not is_users(stored) if inputs is None else inputs.changed() is None

    def inputs(self, kind: str, identity: dict[str, Any]) -> Inputs | None:
        """Return what the user's program of a stored result has read; None: not known."""
        row = self._row(kind, identity_hash(identity))
        stored = None if row is None else _json_object(row[0])
        return None if stored is None else from_json(stored.get(INPUTS))

    def put(self, kind: str, key: str, identity: dict[str, Any], payload: dict[str, Any], *, summary: str = "") -> bool:
        """Store a payload of JSON values (or dataclasses of them); it replaces an earlier payload of this kind and key.

        Returns:
            True when the payload is on the disk; False if it could not be stored, which has been reported.
        """
        content = json.dumps(payload, separators=(",", ":"), default=as_fields).encode("ascii")
        inline = content.decode("ascii") if len(content) <= FILE_BYTES else None
        return self._put(kind, key, identity, content, inline, summary, binary=False)

    def put_bytes(
        self, kind: str, identity: dict[str, Any], content: bytes, *, inputs: Inputs | None = None, summary: str = ""
    ) -> bool:
        """Store bytes that are not JSON under their identity, always in a separate file; otherwise like ``put``.

        ``inputs`` are what a user's program has read; if they could not be observed, nothing is stored.
        """
        if not self._may_keep(identity, inputs):
            return False
        key, identity = identity_hash(identity), _with_inputs(identity, inputs)
        return self._put(kind, key, identity, content, None, summary, binary=True)

    def _may_keep(self, identity: dict[str, Any], inputs: Inputs | None) -> bool:
        """Return whether all that a user's program has read was observed; report it where it was not."""
        if not is_users(identity) or (inputs is not None and not inputs.hidden):
            return True
        reason = inputs.hidden[0] if inputs is not None else "what it reads was not observed"
        self._report(f"store {self.folder}: {identity.get('app')}: {reason}. Its results are used but not kept.")
        return False

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
                for _ in range(3):  # again if the database has been set aside, by this process or another one
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

    def get_record(self, identity: dict[str, Any], *, inexact: bool = False, quiet: bool = False) -> RunRecord | None:
        """Return the record of a run; None if it is unknown, or not in the current form of records, which is reported.

        Only exact records (see ``is_exact``) are returned, unless ``inexact`` asks for others too; their reuse is then
        reported, unless ``quiet``.  That of a user's program is returned only if its inputs are known and unchanged.
        """
        key = identity_hash(identity)
        for kind in ("record", "measurement") if inexact else ("record",):
            payload = self._read(kind, key)
            if payload is None or not _is_asked(payload[0], identity):
                continue
            try:
                record = from_fields(RunRecord, {"identity": deepcopy(identity), **payload[1]})
            except DoesNotFit as err:
                if kind not in self._other_fields:  # after an update of this project there are many of them
                    self._other_fields.add(kind)
                    self.refuse(kind, key, f"{err}. Nor are others like it")
                continue
            if record.source == "simulation" and is_users(identity):
                inputs = from_json((_json_object(payload[0]) or {}).get(INPUTS))
                if inputs is None or inputs.changed() is not None:
                    continue
                record = replace(record, inputs=inputs)
            if is_exact(record):
                return record
            if inexact:
                if not quiet:
                    self._report(_reused(record))
                return record
        return None

    def put_record(self, record: RunRecord) -> bool:
        """Store a record under its identity; a measured record does not replace a simulated one."""
        payload = as_fields(record)
        identity = payload.pop("identity")
        kind = "record" if record.source == "simulation" else "measurement"
        if kind == "record":
            if not self._may_keep(identity, record.inputs):
                return False
            key, identity = identity_hash(identity), _with_inputs(identity, record.inputs)
            return self.put(kind, key, identity, payload, summary=f"{record.time_s:.6g} s")
        return self.put(kind, identity_hash(identity), identity, payload, summary=f"{record.time_s:.6g} s")

    def digests(self, entries: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
        """Return the checksums of those of the entries, by kind and key, that there are."""
        return {entry: row[1] for entry in entries if (row := self._row(*entry)) is not None}

    def refuse(self, kind: str, key: str, reason: str) -> None:
        """Report that an undamaged entry is not what its reader expects.

        The caller makes it again, which replaces it; all other entries stay.
        """
        self._report(f"store {self.folder}: {kind} {key} is not used: {reason.rstrip('.')}. It is made again.")

    def claim(self, kind: str, key: str) -> claims.Claim | None:
        """Claim an entry that this process is about to make, until the context is left; None if another one has it."""
        _check_kind(kind)
        return claims.claim(self.folder, kind, key)

    def entries(self) -> list[Entry]:
        """Return all entries, oldest first.

        Raises:
            StoreError: The store cannot be read.
        """
        rows = self._ask(
            f"SELECT {KIND_COLUMN}, key, identity, summary, created_s, size_bytes FROM entries ORDER BY created_s, key"
        )
        return [
            Entry(kind, key, _json_object(identity) or {}, *rest)
            for kind, key, identity, *rest in rows
            if _are((kind, key, identity, *rest), str, str, str, str, float, int)
        ]

    def remove(self, entries: Sequence[Entry]) -> None:
        """Remove entries, except those written again since they were listed.  ``sweep`` then removes their files.

        Raises:
            StoreError: The store cannot be changed.
        """
        with self._changing():
            self._connection.executemany(
                f"DELETE FROM entries WHERE {IS_ENTRY} AND created_s = :created_s",
                [{"kind": entry.kind, "key": entry.key, "created_s": entry.created_s} for entry in entries],
            )
        with self._locked(), contextlib.suppress(sqlite3.OperationalError):  # busy or full: the space is reused later
            self._connection.execute("VACUUM")

    def sweep(self, *, dry_run: bool = False) -> list[tuple[Path, int]]:
        """Remove the files to which no entry refers any more, and return them with their sizes.

        Raises:
            StoreError: The store cannot be changed.
        """
        with self._changing():
            rows = self._connection.execute("SELECT sha256 FROM entries WHERE payload IS NULL").fetchall()
            files = payloads.unnamed(self.folder, {digest for (digest,) in rows})
            if not dry_run:
                for path, _ in files:
                    path.unlink(missing_ok=True)
        return files

    def close(self) -> None:
        """Close the database; the store must not be used afterwards."""
        with self._locked():
            self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[..., Store], tuple[Path]]:
        return partial(Store, read_only=self._read_only), (self.folder,)

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
        raise StoreError(self.folder, "it is damaged again right after it was created")

    def _begin_anew(self, reason: str) -> None:
        """Set the open database aside and open a new one."""
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
        """Open the database again if its file has been replaced."""
        if database.file_id(self.folder) != self._file_id:
            self._connection.close()
            self._open()

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        if self._pid != os.getpid():
            # After a fork, the parent's SQLite connection and its lock, which may be held, must not be used or closed.
            self._parents = (getattr(self, "_parents", None), self._connection)
            self._connect()
        with self._lock:
            yield

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        """Run the context in a transaction; raise StoreError if it fails."""
        try:
            with self._locked():
                self._follow()
                with transaction(self._connection):
                    yield
        except (OSError, sqlite3.Error) as err:
            raise StoreError(self.folder, _reason(err), "Check its folder") from err

    def _ask(self, query: str) -> list[tuple[Any, ...]]:
        """Return all rows of a query.  Raise StoreError if they cannot be read."""
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
                self._connection.execute(f"DELETE FROM entries WHERE {IS_ENTRY}", {"kind": row[0], "key": row[1]})
                self._connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _read(self, kind: str, key: str, *, binary: bool = False) -> tuple[str, Any] | None:
        """Return the canonical identity and the checked payload: a dict, or bytes if ``binary``; None as in ``get``."""
        row = self._row(kind, key)
        if row is None:
            return None
        try:
            return self._checked(*row, binary=binary)
        except (OSError, ValueError) as err:
            again = self._row(kind, key)
            if again is not None and again != row:  # replaced and swept while it was being read
                with contextlib.suppress(OSError, ValueError):
                    return self._checked(*again, binary=binary)
            if again is not None:
                self._report(f"store {self.folder}: {kind} {key} is damaged ({_reason(err)}). It counts as unknown.")
            return None

    def _row(self, kind: str, key: str) -> tuple[Any, ...] | None:
        query = f"SELECT identity, sha256, payload FROM entries WHERE {IS_ENTRY}"
        with self._locked():
            try:
                rows = self._connection.execute(query, {"kind": kind, "key": key}).fetchall()
            except (sqlite3.DatabaseError, UnicodeDecodeError) as err:
                rows = []
                if is_damage(err):
                    self._begin_anew(str(err))
                else:
                    self._report(f"store {self.folder}: {_reason(err)}. Its results are not used.")
        return rows[0] if rows else None

    def _checked(
        self, identity: str, digest: str, inline: str | None, *, binary: bool
    ) -> tuple[str, dict[str, Any] | bytes] | None:
        """Return the identity and the payload of a row; None if the payload is not of the requested sort.

        Raises:
            OSError: The payload's file cannot be read.
            ValueError: The row or the payload is not what was written.
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


def _with_inputs(identity: dict[str, Any], inputs: Inputs | None) -> dict[str, Any]:
    return identity if inputs is None else {**identity, INPUTS: inputs.to_json()}


def _is_asked(stored: str, identity: dict[str, Any]) -> bool:
    """Return whether a stored identity, in its canonical form, is this one, regardless of the inputs."""
    asked = canonical(identity)
    return stored == asked or canonical(without_inputs(_json_object(stored) or {})) == asked


def _check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise ValueError(f"no such kind of entry: {kind!r}")


def _are(values: Sequence[Any], *types: type | UnionType) -> bool:
    """Return whether the values have these types, which SQLite does not guarantee for a column."""
    return all(isinstance(value, kind) for value, kind in zip(values, types, strict=True))


def _json_object(text: str | bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _reason(err: Exception) -> str:
    """Return the text of an error without its period."""
    return (getattr(err, "problem", None) or getattr(err, "strerror", None) or str(err)).rstrip(".")


def _reused(record: RunRecord) -> str:
    """Return what is said when a record is reused whose times another run would not repeat."""
    when = f" of {record.measured.date[:10]}" if record.measured is not None else ""
    return f"measured times{when} are taken from the store; another run would give slightly different ones."
