"""Write the tables and pictures of the pages on real clusters: what stands between their marks is made again.

Usage: python docs/write_clusters.py

The table after ``<!-- made: NAME -->`` is replaced; the rest of a page is written by hand.  Running the script again
changes nothing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [path for path in (str(ROOT), str(ROOT / "docs")) if path not in sys.path]

from clusters import csd3, hpl, league, published  # noqa: E402 (found by the line above)

PAGES = ROOT / "docs" / "validation"
_PART = re.compile(r"(?P<mark><!-- made: (?P<name>[\w-]+) -->\n)\n*(?:\|.*\n)*\n*")


def filled(text: str, parts: Mapping[str, Callable[[], str]]) -> str:
    """Return the text of a page with its made parts made again."""
    return _PART.sub(lambda found: f"{found['mark']}\n{parts[found['name']]()}\n\n", text)


def write_pages() -> None:
    """Write all pages and pictures."""
    pages = {"published": published.PARTS, "csd3": csd3.PARTS, "real-dahu": hpl.PARTS, "clusters": league.PARTS}
    for name, parts in pages.items():
        page = PAGES / f"{name}.md"
        page.write_text(filled(page.read_text("utf-8"), parts), "utf-8")
    for name, drawn in {"published": published.picture(), "csd3": csd3.picture(), **league.pictures()}.items():
        (PAGES / f"{name}.svg").write_text(drawn, "utf-8")
    (PAGES / "clusters.csv").write_text(league.table(), "utf-8")
    hpl.draw_picture(PAGES / "real-dahu.png")


if __name__ == "__main__":
    write_pages()
