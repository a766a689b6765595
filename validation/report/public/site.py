"""The folder of a site: what was published stays there, and its pages are drawn again when more is published."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

from platforms.errors import UserError
from platforms.files.writing import usable_folder, write_whole, written_into
from validation.report.public.kept import ID_DIGITS, KINDS, Published, id_of
from validation.report.public.pages import files_of_site

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
