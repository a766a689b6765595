"""Pictures of the platforms of the targets."""

from __future__ import annotations

from collections.abc import Iterator

from platforms.addons import provided
from platforms.errors import UserError
from platforms.model.platform import Platform
from platforms.wording import number_of
from validation.report.gather import Gathered
from validation.report.pictures import Picture
from validation.report.svg import inline_svg
from validation.report.tables import Cell, Table, number, numbers, table, words

MOST_PLATFORMS = 8
_SCALE = 1.3  # enlarges the small labels for a screen


def platform_pictures(gathered: Gathered) -> Iterator[Picture | str]:
    """Yield a picture of each platform, or a note on platforms that are not drawn."""
    platforms = {
        (platform.name, platform.content_hash): platform
        for platform in (case.target.platform for case in gathered.cases)
    }
    for place, platform in enumerate(list(platforms.values())[:MOST_PLATFORMS]):
        network = f", network {platform.network}" if platform.network else ""
        hosts, clusters = number_of(len(platform.hosts), "host"), number_of(len(platform.clusters), "cluster")
        title = f"{platform.name}{network}: {hosts} in {clusters}"
        try:
            svg = inline_svg(
                provided("platforms.picture:platform_figure")(platform),
                f"n{place}",
                title=title,
                themed=False,
                scale=_SCALE,
            )
        except UserError as err:
            yield f"{platform.name}: no picture: {err}"
            continue
        yield Picture(f"platform-{place}", svg, f"{title}.", _clusters(platform, title, place), themed=False)
    if len(platforms) > MOST_PLATFORMS:
        yield f"Not drawn: {number_of(len(platforms) - MOST_PLATFORMS, 'more platform')}."


def _clusters(platform: Platform, title: str, place: int) -> Table:
    rows: list[list[Cell | str]] = [
        [
            cluster.name,
            number(len(cluster.hosts), "{:,}"),
            number(cluster.cores),
            number(cluster.speed_flops / 1e9, "{:.6g}"),
        ]
        for cluster in platform.clusters
    ]
    columns = [*words("cluster"), *numbers("hosts", "cores of each", "speed of a core, Gflop/s")]
    return table(f"platform-{place}-data", f"Clusters of {title}", columns, rows)
