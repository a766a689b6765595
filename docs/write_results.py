"""Write the pages of results from their stored rows: docs/results/NAME.md from docs/results/NAME.toml.

Usage: python docs/write_results.py

A file has the page's ``title``, ``about`` (one paragraph), and a list of ``[[table]]``:

    title     the heading above the table; without one the table stands below the one before
    before    a paragraph above the table; optional
    rows      the table as CSV, its first line the names of the columns; cells are Markdown
    made      in place of rows: the name of a CSV file in docs/results/rows, which docs/write_clusters.py writes
    commit    the commit with whose code the rows were measured, and
    command   the command that makes them, or a list of commands;
    date      in place of commit: the day of the measurement, where it was on another machine
    source    in place of commit and command: the publication, for rows that were not measured here
    after     a paragraph below the table; optional
    picture   a file beside the page in place of rows, with ``alt`` that says what it shows

To measure rows again, run the command, replace ``rows`` and ``commit``, and run this script.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"
MADE = RESULTS / "rows"
_NUMBER = re.compile(r"$|-$|(?:[-+<]\s*)?\d")  # cells of a column that is aligned at the right
MARK = "<!-- Made by docs/write_results.py"
KEYS = {"title", "before", "rows", "made", "commit", "command", "date", "source", "after", "picture", "alt"}


def rows_as_markdown(rows: str) -> str:
    """Return CSV as a Markdown table; ValueError: a row that has not as many cells as there are columns."""
    header, *body = csv.reader(rows.strip().splitlines(), strict=True)
    for number, row in enumerate(body, 1):
        if len(row) != len(header):
            raise ValueError(f"row {number} has {len(row)} cells for {len(header)} columns: {row}")
    rules = ["---:" if all(map(_NUMBER.match, column)) else "---" for column in zip(*body, strict=True)]
    lines = [header, rules, *body]
    return "\n".join("| " + " | ".join(cell.strip().replace("|", "\\|") for cell in line) + " |" for line in lines)


def first_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file's first table: each cell without its backquotes, by the name of its column."""
    table = tomllib.loads(path.read_text("utf-8"))["table"][0]
    lines = [[cell.strip(" `") for cell in line] for line in csv.reader(table["rows"].strip().splitlines())]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]


def origin(table: Mapping[str, Any]) -> str:
    """Return the sentence that says where a table's rows are from."""
    if "source" in table:
        return f"From {table['source']}."
    commands = [table["command"]] if isinstance(table["command"], str) else table["command"]
    made = f"with commit {table['commit']}" if "commit" in table else f"on {table['date']}"
    return f"Measured {made} by " + ", ".join(f"`{command}`" for command in commands) + "."


def table_parts(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the paragraphs of one table; ValueError: a key that does not exist."""
    if unknown := set(table) - KEYS:
        raise ValueError(f"unknown key {', '.join(sorted(unknown))}")
    if "title" in table:
        yield f"## {table['title']}"
    if "before" in table:
        yield table["before"].strip()
    if "picture" in table:
        yield f"![{table['alt']}]({table['picture']})"
    rows = (MADE / f"{table['made']}.csv").read_text("utf-8") if "made" in table else table.get("rows")
    if rows is not None:
        if "source" in table:
            yield "<!-- not measured -->"
        yield rows_as_markdown(rows)
    yield origin(table)
    if "after" in table:
        yield table["after"].strip()


def page(path: Path) -> str:
    """Return the page of one file; ValueError: what is wrong in which file and table."""
    content = tomllib.loads(path.read_text("utf-8"))
    parts = [f"# {content['title']}", f"{MARK} from {path.name}: edit that file. -->", content["about"].strip()]
    for number, table in enumerate(content["table"], 1):
        try:
            parts += table_parts(table)
        except (KeyError, ValueError) as error:
            raise ValueError(f"{path.name}, table {number}: {error}") from error
    return "\n\n".join(parts) + "\n"


def index(paths: list[Path]) -> str:
    """Return the list of all pages of results."""
    entries = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in paths}
    listed = [f"* [{entry['title']}]({name}.md): {_first_sentence(entry['about'])}" for name, entry in entries.items()]
    about = "Measured and published figures. Each table names the command and the commit, or the publication."
    return "\n\n".join(["# Results", f"{MARK}. -->", about, "\n".join(listed)]) + "\n"


def _first_sentence(text: str) -> str:
    """Return a text up to its first full stop or question mark."""
    words = " ".join(text.split())
    return re.split(r"(?<=[.?])\s", words)[0]


def pages() -> dict[Path, str]:
    """Return the text of every page of results, keyed by its file."""
    paths = sorted(RESULTS.glob("*.toml"))
    return {RESULTS / "index.md": index(paths), **{path.with_suffix(".md"): page(path) for path in paths}}


def write_pages() -> None:
    """Write all pages of results."""
    for file, text in pages().items():
        file.write_text(text, "utf-8")


if __name__ == "__main__":
    write_pages()
