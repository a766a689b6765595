"""Saved views of the results: a name for an address of the table or of a figure, kept in the project."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass

from platforms.errors import UserError, printable
from validation.workbench.queue.tables import Tables

MOST_VIEWS = 500
MOST_NAME = 80  # characters
MOST_ADDRESS = 8000  # characters
PLACES = ("/results", "/results/figure", "/results/front")


@dataclass(frozen=True)
class SavedView:
    """A view that somebody has named."""

    id: int
    name: str
    owner: str
    created_s: float  # seconds since 1970
    place: str  # one of PLACES
    query: str  # of the address

    @property
    def address(self) -> str:
        """The address of what it shows."""
        return f"{self.place}?{self.query}" if self.query else self.place


def views(tables: Tables) -> list[SavedView]:
    """Return all saved views by their names."""
    return [SavedView(**dict(row)) for row in tables.rows("SELECT * FROM views ORDER BY name COLLATE NOCASE, id")]


def view(tables: Tables, number: int) -> SavedView:
    """Return one saved view.

    Raises:
        UserError: There is none of this number.
    """
    rows = tables.rows("SELECT * FROM views WHERE id = ?", (number,))
    if not rows:
        raise UserError(f"view {number}", "there is no such view", "Choose one from the results")
    return SavedView(**dict(rows[0]))


def save(tables: Tables, name: str, owner: str, place: str, query: str) -> SavedView:
    """Save a view under a name that no other one has; its number is never given again.

    Raises:
        UserError: The name is empty, too long or taken, the place is none, or there are too many views.
    """
    name = " ".join(name.split())
    if not name or len(name) > MOST_NAME or printable(name) != name:
        problem = f"it has {len(name)} characters" if printable(name) == name else "it has characters without a picture"
        raise UserError("name of the view", problem, f"Give 1 to {MOST_NAME} that can be read")
    if place not in PLACES:
        raise UserError(f"place {place[:40]!r}", "no page of results", f"Choose one of {', '.join(PLACES)}")
    if len(query) > MOST_ADDRESS:
        raise UserError("view", f"its address has {len(query):,} characters", f"Choose less: at most {MOST_ADDRESS:,}")
    try:
        with tables.changing() as connection:
            made = SavedView(tables.next_number("views"), name, owner, time.time(), place, query)
            (many,) = connection.execute("SELECT count(*) FROM views").fetchone()
            if many >= MOST_VIEWS:
                raise UserError("views", f"there are {many:,} already", "Remove one that nobody needs")
            values = (made.id, made.name, made.owner, made.created_s, made.place, made.query)
            connection.execute("INSERT INTO views VALUES (?, ?, ?, ?, ?, ?)", values)
    except sqlite3.IntegrityError:
        raise UserError(f"view {name!r}", "there is one of this name", "Remove it, or give another name") from None
    return made


def remove(tables: Tables, number: int) -> None:
    """Remove a saved view; what it shows stays.

    Raises:
        UserError: There is none of this number.
    """
    view(tables, number)
    with tables.changing() as connection:
        connection.execute("DELETE FROM views WHERE id = ?", (number,))
        used = "INSERT INTO used VALUES ('views', ?) ON CONFLICT (kind) DO UPDATE SET last = max(last, excluded.last)"
        connection.execute(used, (number,))
