"""The feed of suites that have ended (Atom), by a link that shows nothing else."""

from __future__ import annotations

import hashlib
import uuid
import xml.etree.ElementTree as ET  # only written here

from starlette.requests import Request
from starlette.responses import Response

from validation.workbench.dispatch.desk import Desk
from validation.workbench.dispatch.webhooks import utc
from validation.workbench.guard.accounts import ACCESS, FEED, Accounts
from validation.workbench.web.answers import desk_of, page, person_of, record
from validation.workbench.web.forms import posted

_SPACE = "http://www.w3.org/2005/Atom"
_ENTRIES = 50


async def make(request: Request) -> Response:
    """Make a link of the feed, and answer with the page that shows it, once."""
    await posted(request)
    accounts: Accounts = request.app.state.accounts
    key = accounts.make_link(FEED, 0, person_of(request).name)
    record(request, "made a link of the feed", ACCESS)
    link = f"{request.url.scheme}://{request.headers['host']}/feed/{key}.atom"
    return page(request, "link.html", link=link, kind=FEED, number="", back="/queue")


def show(request: Request) -> Response:
    """Answer with the feed to whoever has a link of it."""
    accounts: Accounts = request.app.state.accounts
    if not accounts.is_feed(request.path_params["key"]):
        return page(request, "error.html", status=404, error="link: it does not exist, or was taken back.")
    base = f"{request.url.scheme}://{request.headers['host']}"
    return Response(feed(desk_of(request), base), media_type="application/atom+xml; charset=utf-8")


def feed(desk: Desk, base: str) -> bytes:
    """Return the feed.

    Args:
        desk: The project.
        base: The address of the server, to which links lead.
    """
    ends = desk.queue.ends(limit=_ENTRIES)
    space = uuid.UUID(bytes=hashlib.sha256(desk.project.secret() + b" feed").digest()[:16])
    root = ET.Element("feed", xmlns=_SPACE)
    _add(root, "title", f"Suites of {desk.project.folder.name}")
    _add(root, "id", uuid.uuid5(space, "feed").urn)
    _add(root, "updated", utc(ends[0]["at_s"] if ends else 0.0))
    ET.SubElement(root, "link", href=f"{base}/queue")
    for end in ends:
        entry = ET.SubElement(root, "entry")
        counts = ", ".join(f"{count} {state}" for state, count in sorted(end["counts"].items()))
        _add(entry, "title", f"{end['name']} of {end['owner']}: {end['state']}")
        _add(entry, "id", uuid.uuid5(space, str(end["id"])).urn)
        _add(entry, "updated", utc(end["at_s"]))
        _add(ET.SubElement(entry, "author"), "name", end["owner"])
        _add(entry, "summary", f"runs: {counts}")
        ET.SubElement(entry, "link", href=f"{base}/queue/{end['suite']}")
    made: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return made


def _add(parent: ET.Element, name: str, text: str) -> None:
    """Add an element with a text, without what XML cannot have."""
    ET.SubElement(parent, name).text = "".join(letter for letter in text if letter.isprintable())
