"""A site: pages, badges and a feed, drawn again when more is published; what was published stays there."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from html import escape
from pathlib import Path
from statistics import median
from typing import Any

from platforms.errors import UserError, printable
from platforms.files.writing import usable_folder, write_whole, written_into
from platforms.terminal.quantities import percent
from platforms.wording import number_of
from validation.report.errors import error_class
from validation.report.gather import Gathered, Invocation
from validation.report.public.kept import ID_DIGITS, KINDS, Published, gathered_of, id_of
from validation.report.tables import Cell, Table, error_cell, number, numbers, table, words

_WORST = 40  # characters of the longest name on a badge
_CHARACTER_PX, _MARGIN_PX = 7, 6
_COLOURS = {"good": "#0b6b3a", "fair": "#7a4b00", "": "#a3161b"}


def median_errors(errors: Iterable[tuple[str, float]]) -> dict[str, tuple[float, int]]:
    """Return the median error without sign, %, and the number of predictions, by predictor in their first order."""
    by_predictor: dict[str, list[float]] = {}
    for predictor, error_pct in errors:
        by_predictor.setdefault(predictor, []).append(abs(error_pct))
    return {name: (median(some), len(some)) for name, some in by_predictor.items()}


def badge(predictor: str, error_pct: float, count: int) -> str:
    """Return the badge of a predictor: its name and its median error."""
    name = text_of(predictor)
    label = name if len(name) <= _WORST else f"{name[: _WORST - 1]}\N{HORIZONTAL ELLIPSIS}"
    value = f"{percent(error_pct, signed=False)} %"
    left, right = (len(text) * _CHARACTER_PX + 2 * _MARGIN_PX for text in (label, value))
    title = escape(f"{name}: median error {value}, {count} predictions")
    texts = "".join(
        f'<text x="{at + _MARGIN_PX}" y="14" textLength="{width - 2 * _MARGIN_PX}">{escape(text)}</text>'
        for text, at, width in ((label, 0, left), (value, left, right))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{title}">'
        f'<title>{title}</title><rect width="{left}" height="20" fill="#333a42"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{_COLOURS[error_class(error_pct)]}"/>'
        f'<g fill="#ffffff" font-family="DejaVu Sans,Verdana,sans-serif" font-size="11">{texts}</g></svg>'
    )


def file_names(predictors: Iterable[str]) -> Mapping[str, str]:
    """Return a file name for the badge of each predictor, of letters, digits and hyphens."""
    made: dict[str, str] = {}
    for name in sorted(predictors):
        word = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_WORST]
        if not word or word in made.values():
            word = f"{word or 'predictor'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        made[name] = word
    return {name: f"{word}.svg" for name, word in made.items()}


def text_of(text: str) -> str:
    """Return the text without characters that XML does not allow."""
    return printable(text)


LEAGUE, FEED, INDEX = "league.html", "feed.xml", "index.html"
_URNS = uuid.uuid5(uuid.NAMESPACE_DNS, "gridval")  # of published data


@dataclass(frozen=True)
class Entry:
    """Published data as the index and the feed show it."""

    id: str
    urn: str  # its name in the feed
    title: str
    sentence: str
    name: str
    day: str  # as YYYY-MM-DD
    page: str  # file name of its permanent page
    badges: tuple[tuple[str, str], ...]  # file name and SVG of each


def files_of_site(
    title: str, address: str, published: Sequence[Published], progress: Callable[[str, int, int], None]
) -> Iterator[tuple[str, str]]:
    """Yield name and text of each file; equal data give equal texts.

    Args:
        title: Heading of the site.
        address: Address of the site on the web; empty: links of the feed are relative.
        published: The data, in the order of their publication.
        progress: Is called with what is drawn, the number of pages before it, and that of all.
    """
    entries = []
    for place, one in enumerate(published):
        progress(f"page of {one.name}", place, len(published))
        entry = _entry(one)
        entries.append(entry)
        yield from entry.badges
        yield entry.page, _page_of(one, entry, title)
    league = next((one for one in reversed(published) if one.kind == "clusters"), None)
    if league is not None:
        yield LEAGUE, _league_page(league, _entry(league), title, "")
    newest = sorted(reversed(entries), key=lambda entry: entry.day, reverse=True)
    site = {"title": text_of(title), "entries": newest, "league": league is not None, "address": address}
    yield INDEX, _render("index.html.j2", **site, **_looks())
    urn = uuid.uuid5(_URNS, f"site of {published[0].id}").urn
    yield FEED, _render("feed.xml.j2", **site, urn=urn, updated=newest[0].day)


def _entry(one: Published) -> Entry:
    of_results = one.kind == "results"
    errors = _results_errors(one) if of_results else [(row["predictor"], 100 * row["error"]) for row in one.rows]
    found = median_errors(errors)
    names = file_names(found)
    badges = tuple((f"badges/{one.id}/{names[name]}", badge(name, *found[name])) for name in found)
    return Entry(
        id=one.id,
        urn=uuid.uuid5(_URNS, one.id).urn,
        title=text_of(_title(one)),
        sentence=_sentence(found),
        name=text_of(one.name),
        day=one.day.isoformat(),
        page=f"{'results' if of_results else 'league'}/{one.id}.html",
        badges=badges,
    )


def _results_errors(one: Published) -> list[tuple[str, float]]:
    return [
        (row["predictor"], 100 * (row["predicted_s"] - row["simulated_s"]) / row["simulated_s"])
        for row in one.rows
        if row["predicted_s"] is not None and row["simulated_s"]
    ]


def _title(one: Published) -> str:
    if one.kind == "clusters":
        clusters = {row["cluster"] for row in one.rows}
        return f"The league of predictors on {number_of(len(clusters), 'cluster')}"
    # Imported here because it is slow to import.
    from validation.report.lede import title

    return title(_gathered(one).results)


def _sentence(found: dict[str, tuple[float, int]]) -> str:
    predictions = number_of(sum(count for _, count in found.values()), "prediction")
    return f"{predictions} by {number_of(len(found), 'predictor')}. Badges show the median error without sign."


def _gathered(one: Published) -> Gathered:
    file = f"{one.id}.json"
    command = Invocation(("gridval", "report", file, "--out", f"{one.id}.html"))
    return gathered_of(one.rows, command, (file,))


def _page_of(one: Published, entry: Entry, title: str) -> str:
    if one.kind == "clusters":
        return _league_page(one, entry, title, "../")
    # Imported here because it is slow to import.
    from validation.report.page import page

    gathered = _gathered(one)
    gathered.links = ((text_of(title), "../index.html"), ("Data", f"../data/{one.id}.json"))
    return page(gathered, progress=lambda what: None)


def _league_page(one: Published, entry: Entry, title: str, up: str) -> str:
    tables = [_by_cluster(one.rows), _by_program(one.rows)]
    return _render("league.html.j2", site=text_of(title), entry=entry, up=up, tables=tables, **_looks())


def _by_cluster(rows: Sequence[dict[str, Any]]) -> Table:
    made: list[list[Cell | str]] = []
    for (cluster, predictor), some in _groups(rows, "cluster", "predictor").items():
        judged = [row["within"] for row in some if row["within"] is not None]
        costs = [row["cost"] for row in some if row["cost"] is not None]
        share = Cell(f"{sum(judged)} of {len(judged)}", sum(judged) / len(judged)) if judged else number(None)
        made.append([
            text_of(cluster),
            text_of(predictor),
            Cell(str(len(some)), len(some)),
            _error(_median_pct(some)),
            _error(max(abs(100 * row["error"]) for row in some)),
            share,
            number(100 * median(costs) if costs else None, "{:.3g}"),
        ])  # fmt: skip
    heading = numbers("predictions", "median error, %", "largest, %", "in their 90 % interval", "cost, % of the run")
    return table("clusters", "By cluster and predictor", [*words("cluster", "predictor"), *heading], made, wide=True)


def _by_program(rows: Sequence[dict[str, Any]]) -> Table:
    made: list[list[Cell | str]] = []
    for (cluster, program), some in _groups(rows, "cluster", "program").items():
        errors = {name: _median_pct(own) for (name,), own in _groups(some, "predictor").items()}
        nearest = min(errors, key=lambda name: errors[name])
        made.append([text_of(cluster), text_of(program), text_of(nearest), _error(errors[nearest])])
    heading = [*words("cluster", "program", "nearest predictor"), *numbers("its median error, %")]
    return table("programs", "The nearest predictor by program", heading, made)


def _groups(rows: Sequence[dict[str, Any]], *columns: str) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in columns), []).append(row)
    return groups


def _median_pct(rows: Sequence[dict[str, Any]]) -> float:
    return float(median(abs(100 * row["error"]) for row in rows))


def _error(error_pct: float) -> Cell:
    return error_cell(error_pct, signed=False, mark=error_class(error_pct))


def _looks() -> dict[str, str]:
    """Return style and script of the report, and the hash by which pages allow the script."""
    # Imported here because it is slow to import.
    from validation.report.page import resource

    script = resource("script.js")
    script_hash = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {"style": resource("style.css"), "script": script, "script_hash": script_hash}


def _render(template: str, **context: Any) -> str:
    # Imported here because it is slow to import.
    import jinja2

    folders = ("public/templates", "templates")
    loader = jinja2.ChoiceLoader([jinja2.PackageLoader("validation.report", folder) for folder in folders])
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.get_template(template).render(**context)


OPTION = "--public"
MANIFEST = "site.json"
TITLE = "Predicted and true run times"
_FORMAT = "gridval public site 1"
_ID = re.compile(rf"[0-9a-f]{{{ID_DIGITS}}}")


@dataclass(frozen=True)
class Site:
    """Title, address and published data of a site.

    Attributes:
        title: Heading of the site.
        address: Address of the site on the web, which ends with a slash; empty: links of the feed are relative.
        published: All published data, in the order of their publication.
    """

    title: str = TITLE
    address: str = ""
    published: tuple[Published, ...] = field(default=())

    def with_more(self, more: Sequence[Published]) -> Site:
        """Return the site with more data; what is there already keeps its day."""
        there = {one.id for one in self.published}
        new = {one.id: one for one in more if one.id not in there}
        return replace(self, published=(*self.published, *new.values()))


def publish(
    folder_name: str, more: Sequence[Published], *, title: str | None, address: str | None,
    progress: Callable[[str, int, int], None],
) -> Site:  # fmt: skip
    """Add data to the site in a folder, or begin one, and draw all its pages.

    Args:
        folder_name: The folder; it is new, empty, or holds a site.
        more: Data to add.
        title: Heading of the site; None: as before.
        address: Address of the site on the web; None: as before.
        progress: Is called with what is drawn, the number of pages before it, and that of all.

    Raises:
        UserError: The folder holds something else or a damaged site, or cannot be written.
    """
    old = read_site(folder_name)
    site = (old or Site()).with_more(more)
    site = replace(site, title=title or site.title, address=site.address if address is None else _address(address))
    if not site.published:
        raise UserError(f"{OPTION} {folder_name}", "nothing to publish", "Name results, or --clusters FILE.csv")
    folder = usable_folder(OPTION, folder_name)
    with written_into(OPTION, folder):
        if old is None:
            _write(folder, MANIFEST, _manifest(replace(site, published=())))
        for one in site.published:
            _write(folder, f"data/{one.id}.json", one.content)
        _write(folder, MANIFEST, _manifest(site))
        for name, text in files_of_site(site.title, site.address, site.published, progress):
            _write(folder, name, text.encode())
    return site


def read_site(folder_name: str) -> Site | None:
    """Return the site in a folder; None: the folder is new or empty.

    Raises:
        UserError: The folder holds something else, or the site is damaged.
    """
    folder, where = Path(folder_name), f"{OPTION} {folder_name}"
    manifest = folder / MANIFEST
    try:
        if not folder.is_dir() or not any(folder.iterdir()):
            return None
        if not manifest.is_file():
            raise UserError(where, f"the folder holds other files and no {MANIFEST}", "Name a new or empty folder")
        return _site_of(folder, json.loads(manifest.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as err:
        problem = f"{MANIFEST} or what it lists cannot be read ({type(err).__name__})"
        raise UserError(where, problem, "Restore the site, or name a new folder") from err


def _site_of(folder: Path, made: dict[str, Any]) -> Site:
    if made["format"] != _FORMAT:
        raise ValueError("another format")
    published = tuple(_published(folder, one) for one in made["published"])
    return Site(str(made["title"]), _address(made["address"]), published)


def _published(folder: Path, made: dict[str, str]) -> Published:
    if not _ID.fullmatch(made["id"]) or made["kind"] not in KINDS:
        raise ValueError("not an id")
    content = (folder / "data" / f"{made['id']}.json").read_bytes()
    if id_of(content) != made["id"]:
        problem = f"data/{made['id']}.json is not what was published"
        raise UserError(f"{OPTION} {folder}", problem, "Restore the file, or name a new folder")
    kind = next(kind for kind in KINDS if kind == made["kind"])
    return Published(kind, tuple(json.loads(content)[kind]), str(made["name"]), date.fromisoformat(made["day"]))


def _address(address: str) -> str:
    if address and not re.fullmatch(r"https?://[^\s<>\"]+", address):
        raise UserError("--address", f"{address!r} is no address on the web", "Write for example https://example.org/")
    return address if not address or address.endswith("/") else f"{address}/"


def _manifest(site: Site) -> bytes:
    listed = [{"id": one.id, "kind": one.kind, "name": one.name, "day": one.day.isoformat()} for one in site.published]
    whole = {"format": _FORMAT, "title": site.title, "address": site.address, "published": listed}
    return (json.dumps(whole, indent=1) + "\n").encode()


def _write(folder: Path, name: str, content: bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, content)
