"""Write the rows and pictures of the results on real clusters, which docs/write_results.py makes into pages.

Usage: python docs/write_clusters.py

Each table becomes docs/results/rows/PAGE-TABLE.csv, which a page of results names as ``made``.  Running the script
again changes nothing.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [path for path in (str(ROOT), str(ROOT / "docs")) if path not in sys.path]

import write_results  # noqa: E402 (found by the line above)
from clusters import csd3, hpl, league, published  # noqa: E402

PAGES = write_results.RESULTS
PARTS = {"published": published.PARTS, "csd3": csd3.PARTS, "hpl": hpl.PARTS, "clusters": league.PARTS}


def as_csv(table: str) -> str:
    """Return a Markdown table as CSV."""
    heading, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines())
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([heading, *lines])
    return text.getvalue()


def rows(page: str, parts: Mapping[str, Callable[[], str]]) -> dict[Path, str]:
    """Return the rows of a page's tables, keyed by their file."""
    return {write_results.MADE / f"{page}-{name}.csv": as_csv(part()) for name, part in parts.items()}


def write_pages() -> None:
    """Write all rows and pictures, and the pages with them."""
    for page, parts in PARTS.items():
        for file, text in rows(page, parts).items():
            file.write_text(text, "utf-8")
    for name, drawn in {"published": published.picture(), "csd3": csd3.picture(), **league.pictures()}.items():
        (PAGES / f"{name}.svg").write_text(drawn, "utf-8")
    (PAGES / "clusters.csv").write_text(league.table(), "utf-8")
    hpl.draw_picture(PAGES / "hpl.png")
    write_results.write_pages()


if __name__ == "__main__":
    write_pages()
