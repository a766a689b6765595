"""Access to a workbench: accounts with passwords and roles, sessions of browsers, links to read, the audit list.

They are kept in a file beside the queue, which only the user of the server may read.  Of session ids and keys of links
it has hashes alone, and of passwords those of Argon2.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import sqlite3
import threading
import time
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platforms.errors import UserError, known_names, printable

OWNER, EDITOR, VIEWER = ROLES = ("owner", "editor", "viewer")
ACCESS = "access"  # what entries of the audit list are about that did not change the project
FEED = "feed"  # kind of a link to the feed of suites that have ended
READER = "reader"  # role of a session that a link has opened
MOST_NAME = 40  # characters
LEAST_PASSWORD, MOST_PASSWORD = 8, 200  # characters
SESSION_S = 7 * 24 * 3600.0  # a session ends when it was not used for so long
# The key of the person whose request is being answered; work for pages is done in processes of that person.
PERSON: ContextVar[str] = ContextVar("person", default="")
_SEEN_S = 600.0  # the use of a session is written down this often
MOST_AUDITED = 20_000  # entries that are kept
_BUSY_S = 10.0
# Parameters of Argon2id that OWASP recommends where memory is short: 19 MiB, 2 passes, 1 lane.
_PASSES, _MEMORY_KIB, _LANES = 2, 19 * 1024, 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS users (
    name TEXT PRIMARY KEY, role TEXT NOT NULL, hash TEXT NOT NULL, created_s REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS sessions (
    id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, user TEXT, name TEXT NOT NULL, role TEXT NOT NULL,
    link INTEGER, begun_s REAL NOT NULL, seen_s REAL NOT NULL, address TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS links (
    id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, kind TEXT NOT NULL, number INTEGER NOT NULL, owner TEXT NOT NULL,
    created_s REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS audit (
    id INTEGER PRIMARY KEY, at_s REAL NOT NULL, who TEXT NOT NULL, address TEXT NOT NULL, what TEXT NOT NULL
);
"""


@dataclass(frozen=True)
class Person:
    """The sender of a request, as the session of the browser says."""

    session: str  # its id, from which the tokens of forms are made
    number: int  # of the session in the list
    name: str  # of the account, or as it was typed; empty: not typed yet
    role: str
    account: bool = False  # the name is that of an account
    link: tuple[str, int] | None = None  # of a reader: "suite" or "result", and its number

    @property
    def key(self) -> str:
        """The key by which limits are counted: of the account, or else of the session."""
        return f"account {self.name}" if self.account else f"session {self.number}"


class Accounts:
    """The accounts, sessions, links and the audit list of a project.

    Args:
        path: The file; it is made if it is missing.
    """

    def __init__(self, path: Path):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        self._connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
        self._connection.row_factory = sqlite3.Row
        self._lock = threading.Lock()
        self._hashing = threading.Lock()  # one at a time: each needs 19 MiB
        for statement in _SCHEMA.split(";\n"):
            self._do(statement)
        if "about" not in {row["name"] for row in self._do("PRAGMA table_info(audit)")}:  # of an earlier version
            self._do("ALTER TABLE audit ADD COLUMN about TEXT NOT NULL DEFAULT ''")
            self._do("UPDATE audit SET about = ?", ACCESS)  # it is not known what they are about

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    def add_user(self, name: str, role: str, password: str) -> None:
        """Add an account.

        Raises:
            UserError: The name or the role is not possible, the password is too short, or the name is taken.
        """
        name = checked_user(name)
        if role not in ROLES:
            raise UserError(f"role {role!r}", "no such role", known_names(role, ROLES))
        if not LEAST_PASSWORD <= len(password) <= MOST_PASSWORD:
            problem = f"it has {len(password)} characters"
            raise UserError("password", problem, f"Give {LEAST_PASSWORD} to {MOST_PASSWORD}")
        hashed = self._hasher().hash(password)
        try:
            self._do("INSERT INTO users VALUES (?, ?, ?, ?)", name, role, hashed, time.time())
        except sqlite3.IntegrityError:
            raise UserError(f"user {name}", "there is an account of this name", "Remove it first") from None

    def remove_user(self, name: str) -> None:
        """Remove an account and end its sessions.

        Raises:
            UserError: There is none of this name.
        """
        self._do("DELETE FROM sessions WHERE user = ?", name)
        if not self._do("DELETE FROM users WHERE name = ?", name).rowcount:
            known = [user["name"] for user in self.users()]
            raise UserError(f"user {name}", "there is no account of this name", known_names(name, known))

    def users(self) -> list[sqlite3.Row]:
        """Return name, role and date of all accounts."""
        return self._do("SELECT name, role, created_s FROM users ORDER BY name").fetchall()

    def enter(self, name: str, password: str, address: str) -> str | None:
        """Begin a session of an account and return its id; None: the name or the password is wrong."""
        # Imported here for a quick start: only logging in needs it.
        from argon2.exceptions import InvalidHashError, VerificationError

        row = self._do("SELECT name, role, hash FROM users WHERE name = ?", name).fetchone()
        with self._hashing:
            try:  # of an unknown name too, so that the time does not tell which names exist
                self._hasher().verify(row["hash"] if row else self._no_hash(), password[:MOST_PASSWORD])
            except (VerificationError, InvalidHashError):
                return None
        return self.begin(row["role"], address, user=row["name"]) if row else None

    def begin(self, role: str, address: str, *, user: str | None = None, link: int | None = None) -> str:
        """Begin a session and return its id.

        Args:
            role: What it may do.
            address: From where it is begun.
            user: The account; None: of the server's token, or of a link.
            link: The number of the link that opens it.
        """
        made, now = secrets.token_hex(32), time.time()
        self._do("DELETE FROM sessions WHERE seen_s < ?", now - SESSION_S)
        self._do(
            "INSERT INTO sessions (key, user, name, role, link, begun_s, seen_s, address)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            _hash(made), user, user or "", role, link, now, now, address,
        )  # fmt: skip
        return made

    def person(self, session: str) -> Person | None:
        """Return who has a session; None: there is none of this id, it has expired, or it was ended."""
        now = time.time()
        row = self._do(
            "SELECT s.id, s.name, s.user, iif(s.user IS NULL, s.role, u.role) AS role, s.seen_s, s.link, l.kind,"
            " l.number FROM sessions s LEFT JOIN users u ON u.name = s.user LEFT JOIN links l ON l.id = s.link"
            " WHERE s.key = ? AND s.seen_s >= ?",
            _hash(session), now - SESSION_S,
        ).fetchone()  # fmt: skip
        if row is None or row["role"] is None or (row["link"] is not None and row["kind"] is None):  # taken away
            return None
        if now - row["seen_s"] > _SEEN_S:
            self._do("UPDATE sessions SET seen_s = ? WHERE id = ?", now, row["id"])
        link = None if row["link"] is None else (row["kind"], row["number"])
        return Person(session, row["id"], row["name"], row["role"], row["user"] is not None, link)

    def rename(self, person: Person, name: str) -> None:
        """Keep the name that the user of a session without an account has typed."""
        if not person.account and name != person.name:
            self._do("UPDATE sessions SET name = ? WHERE id = ?", name, person.number)

    def sessions(self) -> list[sqlite3.Row]:
        """Return the sessions that have not expired, the latest first."""
        columns = "id, name, user, role, link, begun_s, seen_s, address"
        query = f"SELECT {columns} FROM sessions WHERE seen_s >= ? ORDER BY seen_s DESC"
        return self._do(query, time.time() - SESSION_S).fetchall()

    def end(self, number: int) -> None:
        """End a session."""
        self._do("DELETE FROM sessions WHERE id = ?", number)

    def end_others(self, person: Person) -> int:
        """End all sessions of a person's account, or all without an account, but this one; return how many."""
        where = "user = ?" if person.account else "user IS ? AND link IS NULL"
        return self._do(
            f"DELETE FROM sessions WHERE {where} AND id != ?", person.name if person.account else None, person.number
        ).rowcount

    def make_link(self, kind: str, number: int, owner: str) -> str:
        """Make a link to read a suite or a result without an account, and return its key."""
        made = secrets.token_urlsafe(24)
        self._do(
            "INSERT INTO links (key, kind, number, owner, created_s) VALUES (?, ?, ?, ?, ?)",
            _hash(made), kind, number, owner, time.time(),
        )  # fmt: skip
        return made

    def links(self) -> list[sqlite3.Row]:
        """Return all links."""
        return self._do("SELECT id, kind, number, owner, created_s FROM links ORDER BY id DESC").fetchall()

    def take_back(self, link: int) -> None:
        """Remove a link; sessions that it has opened end."""
        self._do("DELETE FROM links WHERE id = ?", link)
        self._do("DELETE FROM sessions WHERE link = ?", link)

    def follow(self, key: str, address: str) -> tuple[str, str, int] | None:
        """Begin the session of a link; return its id, and what the link shows: the kind and the number."""
        query = "SELECT id, kind, number FROM links WHERE key = ? AND kind != ?"
        row = self._do(query, _hash(key), FEED).fetchone()
        return None if row is None else (self.begin(READER, address, link=row["id"]), row["kind"], row["number"])

    def is_feed(self, key: str) -> bool:
        """Return whether a key is that of a link to the feed."""
        return self._do("SELECT 1 FROM links WHERE key = ? AND kind = ?", _hash(key), FEED).fetchone() is not None

    def record(self, who: str, address: str, what: str, about: str = "") -> None:
        """Write down what somebody has done; ``about`` is ACCESS where it did not change the project."""
        last = self._do(
            "INSERT INTO audit (at_s, who, address, what, about) VALUES (?, ?, ?, ?, ?)", time.time(), who, address,
            what, about,
        ).lastrowid  # fmt: skip
        self._do("DELETE FROM audit WHERE id <= ?", (last or 0) - MOST_AUDITED)

    def audited(self, *, offset: int = 0, limit: int = 100) -> list[sqlite3.Row]:
        """Return what was done, the latest first."""
        query = "SELECT at_s, who, address, what FROM audit ORDER BY id DESC LIMIT ? OFFSET ?"
        return self._do(query, limit, offset).fetchall()

    def count_audited(self) -> int:
        """Return the number of entries of the audit list."""
        return int(self._do("SELECT count(*) FROM audit").fetchone()[0])

    def changes(self, *, offset: int = 0, limit: int = 100) -> list[sqlite3.Row]:
        """Return the entries that are about the project, without addresses, the latest first."""
        query = "SELECT at_s, who, what FROM audit WHERE about != ? ORDER BY id DESC LIMIT ? OFFSET ?"
        return self._do(query, ACCESS, limit, offset).fetchall()

    def count_changes(self) -> int:
        """Return the number of entries that are about the project."""
        return int(self._do("SELECT count(*) FROM audit WHERE about != ?", ACCESS).fetchone()[0])

    def _do(self, query: str, *values: Any) -> sqlite3.Cursor:
        with self._lock:
            return self._connection.execute(query, values)

    @staticmethod
    def _hasher() -> Any:
        # Imported here for a quick start: only logging in needs it.
        from argon2 import PasswordHasher

        return PasswordHasher(time_cost=_PASSES, memory_cost=_MEMORY_KIB, parallelism=_LANES)

    def _no_hash(self) -> str:
        if not hasattr(self, "_unknown"):
            self._unknown: str = self._hasher().hash(secrets.token_hex(16))
        return self._unknown


def checked_user(text: str) -> str:
    """Return a name that a user typed.

    Raises:
        UserError: It is empty or too long.
    """
    name = printable(text.strip())
    if not 0 < len(name) <= MOST_NAME:
        raise UserError("your name", "none is given" if not name else "it is too long", "Type a short one; it is shown")
    return name


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
