"""The pages of platforms: the list, one platform, a grid from a form, and uploads."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from platforms.grids.network import network_names
from validation.workbench.editing.drafts import unsaved
from validation.workbench.guard.limits import MOST_UPLOADS_EACH, Limits
from validation.workbench.pages.files import shown_items
from validation.workbench.project.platform_files import (
    MOST_CLUSTERS,
    MOST_UPLOAD_BYTES,
    SHAPES,
    accept_upload,
    cluster_count,
    grid_text,
    is_system,
    keep_grid,
    keep_upload,
    listed,
    located,
)
from validation.workbench.web.answers import desk_of, moved, page, person_of, record, saved_as
from validation.workbench.web.colours import darkened
from validation.workbench.web.forms import posted, texts
from validation.workbench.web.lanes import in_lane

_PICTURE = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
_SPEEDS = ("40", "50", "60", "70")  # Gflop/s: those of the HCF paper, as a start


def show_list(request: Request) -> Response:
    """Answer with the list of platforms."""
    entries = listed(desk_of(request).project)
    return page(request, "platforms.html", kinds={entry.name: entry.kind for entry in entries},
                **shown_items(request, "platforms"), scenarios=[e for e in entries if not e.is_file],
                unsaved=unsaved(desk_of(request).project, "platforms"), most_mb=MOST_UPLOAD_BYTES >> 20)  # fmt: skip


def show_one(request: Request) -> Response:
    """Answer with the description of a platform."""
    name = request.path_params["name"]
    desk = desk_of(request)
    shown = desk.show(name=located(desk.project, name))
    return page(request, "platform.html", platform=name, text=shown["text"], hosts=shown["hosts"],
                is_file="." in name, is_toml=name.endswith(".toml"),
                is_system=is_system(desk.project, name))  # fmt: skip


def draw_one(request: Request) -> Response:
    """Answer with the picture of a platform."""
    desk = desk_of(request)
    return _picture(request, desk.show(name=located(desk.project, request.path_params["name"]), picture=True)["svg"])


def download(request: Request) -> Response:
    """Answer with the file of a platform, as XML or as TOML."""
    desk, name, kind = desk_of(request), request.path_params["name"], request.path_params["kind"]
    place = located(desk.project, name)
    stem = name.rpartition(".")[0] or name
    headers = saved_as(f"{stem}.{kind}")
    if kind == "toml" and name.endswith(".toml"):
        with open(place, encoding="utf-8") as file:
            return Response(file.read(), media_type="application/toml", headers=headers)
    if kind == "xml":
        return Response(desk.show(name=place)["xml"], media_type="application/xml", headers=headers)
    raise UserError(f"platform {name}", f"there is no {kind} file of it", "Download the XML file")


def show_form(request: Request) -> Response:
    """Answer with the form of a grid; the address has its values, so that reloading loses nothing."""
    return _form(request, dict(request.query_params))


def look(request: Request) -> Response:
    """Answer with the part of the form that shows the grid as it is now."""
    values = dict(request.query_params)
    answer = _form(request, values, "grid_part.html")
    answer.headers["HX-Replace-Url"] = f"/platforms/new?{urlencode(values)}"
    return answer


def _form(
    request: Request, given: dict[str, str], template: str = "grid.html", error: str = "", status: int = 200
) -> Response:
    values = _defaults() | {key: value for key, value in given.items() if not key.startswith("form_")}
    count = cluster_count(values)
    for number in range(1, count + 1):
        values.setdefault(f"nodes_{number}", "8")
        values.setdefault(f"speed_{number}", _SPEEDS[(number - 1) % len(_SPEEDS)])
        values.setdefault(f"cores_{number}", "1")
    hosts, wrong = 0, ""
    try:
        hosts = desk_of(request).show(grid=grid_text(values))["hosts"]
    except UserError as err:
        wrong = str(err)
    query = urlencode({key: value for key, value in values.items() if key != "name"})
    return page(request, template, status=status, values=values, count=count, most=MOST_CLUSTERS, hosts=hosts,
                wrong=wrong, query=query, networks=network_names(), shapes=SHAPES, error=error)  # fmt: skip


def _defaults() -> dict[str, str]:
    empty = dict.fromkeys(("grid_name", "wan_bandwidth", "wan_latency"), "")
    return {**empty, "clusters": "2", "network": "gigabit", "shape": "mesh"}


def draw_form(request: Request) -> Response:
    """Answer with the picture of the grid that a form describes."""
    given = {key: value for key, value in request.query_params.items() if key != "dark"}
    return _picture(request, desk_of(request).show(grid=grid_text(_defaults() | given), picture=True)["svg"])


def _picture(request: Request, svg: str) -> Response:
    """Answer with a picture, in colours for a dark page if the address says so."""
    drawn = darkened(svg) if "dark" in request.query_params else svg
    return Response(drawn, media_type="image/svg+xml", headers=_PICTURE)


async def make(request: Request) -> Response:
    """Write the file of the grid that a form describes."""
    values = texts(await posted(request))

    def made() -> Response:
        desk = desk_of(request)
        try:
            text = grid_text(values)
            desk.show(grid=text)  # raises an error for what SimGrid cannot load
            name = keep_grid(desk.project, values.get("grid_name", ""), text)
            record(request, f"made the platform {name}")
            return moved(f"/platforms/{name}")
        except UserError as err:
            return _form(request, values, error=str(err), status=400)

    return await in_lane(request, made)


async def upload(request: Request) -> Response:
    """Check an uploaded platform file and keep it."""
    given = (await posted(request)).get("file")
    if not isinstance(given, UploadFile) or not given.filename:
        raise UserError("upload", "no file was chosen", "Choose a SimGrid platform, .xml")
    name, content = given.filename, await given.read()

    def kept() -> Response:
        desk = desk_of(request)
        path = keep_upload(desk.project, name, content)
        try:
            desk.check_upload(path)
            kept_name = accept_upload(desk.project, path)
            record(request, f"uploaded the platform {kept_name}")
            return moved(f"/platforms/{kept_name}")
        except UserError as err:
            raise err.renamed(str(path), name).renamed(f"{desk.project.folder}/", "") from None
        finally:
            path.unlink(missing_ok=True)

    limits: Limits = request.app.state.limits
    with limits.hold("uploads", person_of(request).key, MOST_UPLOADS_EACH):
        return await in_lane(request, kept, upload=True)
