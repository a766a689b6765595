"""Draw docs/architecture.svg and write the tables of docs/rooms.md from the imports and docstrings of the code.

Usage: python docs/draw_rooms.py

A room is a subpackage or a loose module of a package; a floor holds the rooms whose imports all lead to lower floors.
An arrow leads from a room to one that it imports; imports that follow from other arrows are left out.  The tables
hold the first sentence of each room's docstring.  Running the script again changes nothing.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from xml.sax.saxutils import escape

import grimp
import networkx as nx

ROOT = Path(__file__).resolve().parents[1]
PICTURE, PAGE = ROOT / "docs" / "architecture.svg", ROOT / "docs" / "rooms.md"
PACKAGES = ("validation", "predictor", "apps", "platforms")  # the top first
WIDTH, MARGIN, TITLE, BOX, GAP, FLOOR = 1560, 24, 34, 34, 22, 74  # px
LANE = 8.0  # px, the width of an arrow that passes between the rooms of a floor
INK, LINE, PAPER, PANEL, FILL = "#1f2933", "#7b8794", "#ffffff", "#f3f5f8", "#dfe8f4"
SWEEPS = 12  # over the floors, to put rooms near those that they import


def imports() -> grimp.ImportGraph:
    """Return the imports between all modules of the four packages."""
    return grimp.build_graph(*PACKAGES, cache_dir=None)


def room_graph(package: str, modules: grimp.ImportGraph) -> nx.DiGraph:
    """Return the rooms of a package; an edge leads from a room to one that it imports."""
    rooms = nx.DiGraph()

    def room(module: str) -> str:
        return module.split(".")[1]

    inside = sorted(module for module in modules.modules if module.startswith(f"{package}."))
    rooms.add_nodes_from(sorted({room(module) for module in inside}))
    for module in inside:
        for imported in sorted(modules.find_modules_directly_imported_by(module)):
            if imported.startswith(f"{package}.") and room(imported) != room(module):
                rooms.add_edge(room(module), room(imported))
    return rooms


def floors(rooms: nx.DiGraph) -> list[list[str]]:
    """Return the rooms by floor, the lowest first: a room's imports all lead to lower floors."""
    return [sorted(floor) for floor in nx.topological_generations(rooms.reverse())]


def first_sentence(docstring: str) -> str:
    r"""Return the first sentence of a docstring as one line.

    >>> first_sentence('The model of K.-C. Li.  It adds up\nsegments.\n\nMore.')
    'The model of K.-C. Li.'
    """
    paragraph = " ".join(docstring.partition("\n\n")[0].split())
    return re.split(r"(?<=\.)(?<!\b[A-Z]\.)\s+(?=[A-Z`])", paragraph, maxsplit=1)[0]


def purpose(package: str, room: str) -> str:
    """Return the first sentence of the room's docstring."""
    path = ROOT / package / room / "__init__.py"
    source = path if path.exists() else ROOT / package / f"{room}.py"
    return first_sentence(ast.get_docstring(ast.parse(source.read_text("utf-8"))) or "")


def _paths(rooms: nx.DiGraph, rows: list[list[str]]) -> dict[tuple[str, str], list[str]]:
    """Return each drawn import as its stops: the two rooms, and a lane on every floor between them."""
    floor_of = {name: floor for floor, names in enumerate(rows) for name in names}
    return {
        (upper, lower): [
            upper,
            *(f"{upper} {lower} {floor}" for floor in range(floor_of[upper] - 1, floor_of[lower], -1)),
            lower,
        ]
        for upper, lower in sorted(nx.transitive_reduction(rooms).edges)
    }


def _ordered(rows: list[list[str]], paths: dict[tuple[str, str], list[str]]) -> list[list[str]]:
    """Return rooms and lanes of every floor in an order with few crossings: each near the mean of its neighbours."""
    neighbours = nx.Graph()
    for stops in paths.values():
        nx.add_path(neighbours, stops)
    lanes: dict[int, list[str]] = {}
    for stops in paths.values():
        for lane in stops[1:-1]:
            lanes.setdefault(int(lane.rsplit(" ", 1)[1]), []).append(lane)
    order = [[*names, *sorted(lanes.get(floor, []))] for floor, names in enumerate(rows)]
    for sweep in range(SWEEPS):
        floors_now = range(1, len(order)) if sweep % 2 == 0 else range(len(order) - 2, -1, -1)
        for floor in floors_now:
            beside = order[floor + (-1 if sweep % 2 == 0 else 1)]
            place = {name: (number + 0.5) / len(beside) for number, name in enumerate(beside)}
            now = {name: (number + 0.5) / len(order[floor]) for number, name in enumerate(order[floor])}
            means = {}
            for name in order[floor]:
                known = [place[one] for one in neighbours[name] if one in place] if name in neighbours else []
                means[name] = fmean(known) if known else now[name]
            order[floor].sort(key=lambda name, means=means: (round(means[name], 9), name))
    return order


def _places(order: list[list[str]], top: float) -> dict[str, tuple[float, float, float]]:
    """Return left, top and width of every room and lane."""
    place = {}
    for row, names in enumerate(reversed(order)):
        widths = [LANE if " " in name else max(64.0, 8.6 * len(name) + 20) for name in names]
        gap = min(GAP, (WIDTH - 2 * MARGIN - sum(widths)) / max(len(names) - 1, 1))  # the widest floor fits the panel
        left = (WIDTH - sum(widths) - gap * (len(names) - 1)) / 2
        for name, width in zip(names, widths, strict=True):
            place[name] = (left, top + TITLE + row * FLOOR, width)
            left += width + gap
    return place


def _arrow(stops: list[tuple[float, float, float]]) -> str:
    """Return the path of an arrow from the first stop, a room, by lanes to the last, a room."""
    (left, top, width), *rest = stops
    x, y = left + width / 2, top + BOX
    parts = [f"M{x:.1f} {y:.1f}"]
    for number, (next_left, next_top, next_width) in enumerate(rest):
        next_x, last = next_left + next_width / 2, number == len(rest) - 1
        bend = 0.45 * (next_top - y)
        end = next_top - 2 if last else next_top
        parts.append(f"C{x:.1f} {y + bend:.1f} {next_x:.1f} {next_top - bend:.1f} {next_x:.1f} {end:.1f}")
        if not last:
            parts.append(f"V{next_top + BOX:.1f}")
        x, y = next_x, next_top + BOX
    return f'<path d="{" ".join(parts)}" class="import"/>'


def _panel(package: str, modules: grimp.ImportGraph, top: float) -> tuple[list[str], float]:
    """Return the drawing of a package, and where it ends."""
    rooms = room_graph(package, modules)
    rows = floors(rooms)
    paths = _paths(rooms, rows)
    place = _places(_ordered(rows, paths), top)
    height = TITLE + len(rows) * FLOOR - (FLOOR - BOX) + MARGIN
    parts = [
        f'<rect x="{MARGIN / 2}" y="{top:g}" width="{WIDTH - MARGIN}" height="{height:g}" rx="8" fill="{PANEL}"/>',
        f'<text x="{MARGIN + 4}" y="{top + 24:g}" font-weight="bold" font-size="17">{package}/</text>',
    ]
    parts += [_arrow([place[stop] for stop in stops]) for stops in paths.values()]
    for name in sorted(rooms):
        x, y, width = place[name]
        parts.append(
            f"<g><title>{escape(f'{package}.{name}: {purpose(package, name)}'.replace('``', ''))}</title>"
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{BOX}" rx="5" class="room"/>'
            f'<text x="{x + width / 2:.1f}" y="{y + 22:.1f}" text-anchor="middle">{escape(name)}</text></g>'
        )
    return parts, top + height


def drawing(modules: grimp.ImportGraph) -> str:
    """Return the picture as SVG."""
    top, parts = 8.0, []
    for number, package in enumerate(PACKAGES):
        panel, end = _panel(package, modules, top)
        parts += panel
        top = end + 30
        if number + 1 < len(PACKAGES):
            parts.append(f'<path d="M{WIDTH / 2} {end:g} V{top - 2:g}" class="import package"/>')
    return "\n".join([*_head(top - 22), *parts, "</svg>\n"])


def _head(height: float) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" font-family="sans-serif" '
        f'font-size="14" fill="{INK}" role="img">'
    )
    yield "<title>The rooms of the four packages, floor by floor; arrows lead to what is imported</title>"
    yield (
        f"<style>.import{{fill:none;stroke:{LINE};stroke-width:1.2;marker-end:url(#tip)}} .package{{stroke-width:3}} "
        f".room{{fill:{FILL};stroke:{LINE}}}</style>"
    )
    yield (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/></marker></defs>'
    )
    yield f'<rect width="{WIDTH}" height="{height:g}" fill="{PAPER}"/>'


def table(package: str, modules: grimp.ImportGraph) -> str:
    """Return the table of a package's rooms in Markdown, the top floor first."""
    rows = (name for floor in reversed(floors(room_graph(package, modules))) for name in floor)
    lines = (f"| `{name}` | {purpose(package, name).replace('``', '`').replace('|', '&#124;')} |" for name in rows)
    return "\n".join(("| room | purpose |", "|---|---|", *lines))


def with_tables(page: str, modules: grimp.ImportGraph) -> str:
    """Return the text of the page with the tables as the code has them, between the markers of each package."""
    for package in PACKAGES:
        made = f"<!-- rooms of {package} -->\n\n{table(package, modules)}\n\n<!-- end -->"
        page, times = re.subn(
            rf"<!-- rooms of {package} -->.*?<!-- end -->", lambda _, made=made: made, page, flags=re.DOTALL
        )
        if times != 1:
            raise ValueError(f"{PAGE.name}: the markers of {package} are there {times} times, not once")
    return page


def main() -> None:
    """Write the picture and the tables."""
    modules = imports()
    PICTURE.write_text(drawing(modules), "utf-8")
    PAGE.write_text(with_tables(PAGE.read_text("utf-8"), modules), "utf-8")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
