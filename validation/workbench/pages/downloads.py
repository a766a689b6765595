"""Downloads of results: CSV, Parquet, and the report page of a suite."""

from __future__ import annotations

import csv
import importlib.util
import io
from collections.abc import Iterator, Sequence
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from platforms.errors import UserError
from validation.workbench.pages.queue import own_suite
from validation.workbench.queue.points import view_of
from validation.workbench.web.answers import desk_of, moved, record
from validation.workbench.web.forms import posted

_PART = 1 << 16  # characters of a CSV file that are sent at a time


def as_csv(request: Request) -> Response:
    """Answer with all results of a view as CSV, with the columns of results.csv or those that were chosen."""
    headers = {"content-disposition": 'attachment; filename="results.csv"'}
    rows = ({key: harmless(value) for key, value in row.items()} for row in _rows(request))
    return StreamingResponse(_lines(rows, _columns(request)), media_type="text/csv", headers=headers)


def has_parquet() -> bool:
    """Return whether results can be downloaded as Parquet: pyarrow is installed."""
    return importlib.util.find_spec("pyarrow") is not None


def as_parquet(request: Request) -> Response:
    """Answer with all results of a view as Parquet, with the columns of results.csv."""
    view = view_of(request.query_params, desk_of(request).queue.tables)
    if not view.count(desk_of(request).queue.tables):
        raise UserError("results", "there are none with this filter", "Choose others")
    headers = {"content-disposition": 'attachment; filename="results.parquet"'}
    made = desk_of(request).as_parquet(_lines(_rows(request), _columns(request)))
    return Response(made, media_type="application/vnd.apache.parquet", headers=headers)


async def write_report(request: Request) -> Response:
    """Have the report page of a suite written; the page of the suite shows how far it is."""
    await posted(request)
    number = request.path_params["number"]
    await run_in_threadpool(desk_of(request).write_report, number)
    record(request, f"asked for the report page of suite {number}")
    return moved(f"/queue/{number}")


async def cancel_report(request: Request) -> Response:
    """Cancel the report page of a suite."""
    await posted(request)
    number = own_suite(request).id
    await run_in_threadpool(desk_of(request).reports.cancel, number)
    return moved(f"/queue/{number}")


def send_report(request: Request) -> Response:
    """Answer with the report page of a suite, as a file: its own scripts do not run under the workbench's address."""
    desk, number = desk_of(request), request.path_params["number"]
    suite, path = desk.queue.suite(number), desk.reports.path(number)
    if not path.is_file():
        raise UserError(f"report of {suite.name}", "it is not written yet", "Press the button on the suite's page")
    return FileResponse(path, media_type="text/html", filename=f"{suite.name}.html")


def harmless(value: object) -> object:
    """Return a value of a CSV file: a text that a spreadsheet would work out as a formula begins with an apostrophe."""
    if not isinstance(value, str) or not value.lstrip()[:1] or value.lstrip()[0] not in "=+-@\t\r":
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def _rows(request: Request) -> Iterator[dict[str, Any]]:
    tables = desk_of(request).queue.tables
    view = view_of(request.query_params, tables)
    return view.every_row(tables) if view.shown else view.whole(tables)


def _columns(request: Request) -> list[str]:
    """Return the columns that were chosen, or else those of kernels, and those of each application."""
    tables = desk_of(request).queue.tables
    view = view_of(request.query_params, tables)
    return list(view.shown) or view.fields(tables)


def _lines(rows: Iterator[dict[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """Yield a CSV file in parts of many lines, because every part takes a change of threads."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        writer.writerow(row)
        if text.tell() > _PART:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()
