"""The command ``gridval platform show``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platforms.command.command import Command
from platforms.command.request import JsonOption, WideOption, argument, option
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError
from platforms.options import PlatformOptions, platform_from_request
from platforms.plotting.pictures import PICTURES, check_picture, write_picture
from platforms.terminal.progress import doing

if TYPE_CHECKING:
    from platforms.show.inspection import Inspection

_DESCRIPTION = """Show a platform: clusters, hosts, speeds, power, zones and their routing, latency and bandwidth within
and between clusters, SimGrid options in the file, and unusual properties. Latencies and bandwidths are those of an
idle network before the factors of SimGrid's network model, from a sample of the hosts, whose size is shown."""


@dataclass(frozen=True, kw_only=True)
class FileOptions(PlatformOptions):
    """A platform, which the first word may name."""

    file: str | None = argument("FILE", "a platform, .xml or .so, a scenario file, .toml, or a grid", default=None)


@dataclass(frozen=True, kw_only=True)
class ShowRequest(FileOptions, WideOption, JsonOption):
    """A platform to show."""

    picture: str | None = option(
        None, "FILE", f"draw zones, clusters and links: {', '.join('.' + name for name in PICTURES)}"
    )


@dataclass(frozen=True)
class Inspected:
    """A platform, with what was found out about it."""

    inspection: Inspection
    wide: bool  # tables with all columns

    def text(self) -> str:
        """Return it as lines of text."""
        # Imported here because it is slow to import.
        from platforms.show.inspection import as_text

        return as_text(self.inspection, wide=self.wide)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, in SI units."""
        # Imported here because it is slow to import.
        from platforms.show.inspection import as_json

        return as_json(self.inspection)


def answer(request: ShowRequest) -> Inspected:
    """Inspect the platform, and draw it if that is asked for."""
    if request.picture is not None:
        check_picture("--picture", request.picture)
    platform = platform_from_request(with_file(request))
    # Imported here because it is slow to import.
    from platforms.show.inspection import inspect

    with doing("looking at the platform"):
        inspection = inspect(platform)
    if request.picture is not None:
        # Imported here because it is slow to import.
        from platforms.picture import platform_figure

        with doing("drawing the platform"):
            write_picture("--picture", request.picture, platform_figure(platform))
    return Inspected(inspection, request.wide)


def with_file(request: FileOptions) -> FileOptions:
    """Return the request with its file as the value of --scenario (.toml, or the name of a grid) or else of --platform.

    Raises:
        UserError: The file stands beside one of these options.
    """
    if request.file is None:
        return request
    for name, value in (("--platform", request.platform), ("--scenario", request.scenario)):
        if value:
            raise UserError(name, f"does not go with the file {request.file}", "Drop one")
    path = Path(request.file)
    is_name = path.name == request.file and not path.suffix and not path.exists()
    if path.suffix == ".toml" or is_name:
        return replace(request, scenario=request.file)
    return replace(request, platform=(request.file,))


COMMAND = Command(
    "platform show",
    ShowRequest,
    answer,
    _DESCRIPTION,
    epilog=f"docs/platforms/own-platform.md. {EXIT_STATUSES}",
)
main = COMMAND.main
