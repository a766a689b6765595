"""The addresses of the pages."""

from __future__ import annotations

from importlib import resources

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from validation.workbench.pages import (
    api,
    application_panel,
    applications,
    comparison,
    downloads,
    entering,
    feed,
    figures,
    files,
    panel,
    people,
    platforms,
    queue,
    results,
    sharing,
    systems,
    timeline,
    views,
)
from validation.workbench.web.answers import moved
from validation.workbench.web.lanes import laned


def start(_: Request) -> Response:
    """Send the browser to the first page."""
    return moved("/platforms")


ROUTES: list[BaseRoute] = [
    Route("/", start),
    Route("/login", entering.show),
    Route("/login", entering.enter, methods=["POST"]),
    Route("/logout", entering.leave, methods=["POST"]),
    Route("/share/{key}", sharing.follow),
    Route("/access", people.show),
    Route("/access/{action}", people.act, methods=["POST"]),
    Route("/feed", feed.make, methods=["POST"]),
    Route("/feed/{key}.atom", feed.show),
    Route("/links", sharing.make, methods=["POST"]),
    Route("/platforms", platforms.show_list),
    Route("/platforms/new", laned(platforms.show_form)),
    Route("/platforms/new", platforms.make, methods=["POST"]),
    Route("/platforms/new/part", laned(platforms.look)),
    Route("/platforms/new/picture.svg", laned(platforms.draw_form)),
    Route("/platforms/upload", platforms.upload, methods=["POST"]),
    Route("/platforms/{name}", laned(platforms.show_one)),
    Route("/platforms/{name}/picture.svg", laned(platforms.draw_one)),
    Route("/platforms/{name}/file.{kind}", laned(platforms.download)),
    Route("/systems/new", systems.show_new),
    Route("/systems/new", systems.begin, methods=["POST"]),
    Route("/systems/{name}", laned(systems.show)),
    Route("/systems/{name}", systems.change, methods=["POST"]),
    Route("/systems/{name}/draft.{kind}", laned(systems.download)),
    Route("/hardware", systems.search),
    Route("/applications", applications.show_list),
    Route("/applications", applications.begin, methods=["POST"]),
    Route("/applications/{name}", laned(applications.show)),
    Route("/applications/{name}", applications.change, methods=["POST"]),
    Route("/applications/{name}/draft.toml", applications.download),
    Route("/applications/{name}/run", laned(applications.show_run)),
    Route("/suites", files.show_suites),
    Route("/files/{kind}/{name}", files.show_file),
    Route("/files/{kind}/{name}/{action}", files.act, methods=["POST"]),
    Route("/history", files.show_history),
    Route("/history/{number:int}/undo", files.undo, methods=["POST"]),
    Route("/panel", laned(panel.show)),
    Route("/panel", panel.queue, methods=["POST"]),
    Route("/panel/part", laned(panel.look)),
    Route("/panel/applications", laned(application_panel.show)),
    Route("/panel/applications", application_panel.queue, methods=["POST"]),
    Route("/panel/applications/part", laned(application_panel.look)),
    Route("/panel/applications/fields", laned(application_panel.fields)),
    Route("/queue", queue.show),
    Route("/queue/part", queue.show_list),
    Route("/queue/events", queue.events),
    Route("/queue/{number:int}", queue.show_suite),
    Route("/queue/{number:int}/part", queue.show_runs),
    Route("/queue/{number:int}/suite.toml", queue.suite_file),
    Route("/queue/{number:int}/runs/{run:int}/log", queue.show_log),
    Route("/queue/{number:int}/remove", queue.ask_removal),
    Route("/queue/{number:int}/remove", queue.remove, methods=["POST"]),
    Route("/queue/{number:int}/report", downloads.write_report, methods=["POST"]),
    Route("/queue/{number:int}/report/cancel", downloads.cancel_report, methods=["POST"]),
    Route("/queue/{number:int}/report.html", downloads.send_report),
    Route("/queue/{number:int}/{action}", queue.act, methods=["POST"]),
    Route("/results", results.show),
    Route("/results.csv", downloads.as_csv),
    Route("/results.parquet", laned(downloads.as_parquet)),
    Route("/results/figure", figures.show_figure),
    Route("/results/front", figures.show_front),
    Route("/results/{name}.{kind}", laned(figures.send_file)),
    Route("/results/compare", comparison.show),
    Route("/results/{number:int}", results.show_one),
    Route("/results/{number:int}/timeline", timeline.show),
    Route("/results/{number:int}/timeline", timeline.record, methods=["POST"]),
    Route("/views", views.keep, methods=["POST"]),
    Route("/views/{number:int}", views.follow),
    Route("/views/{number:int}/remove", views.remove, methods=["POST"]),
    Route("/results/{number:int}/graph", timeline.show_graph),
    Route("/results/{number:int}/graph", timeline.record_graph, methods=["POST"]),
    Route("/timeline.js", timeline.script),
    *api.ROUTES,
    Mount("/static", StaticFiles(directory=str(resources.files("validation.workbench.web") / "static"))),
]
