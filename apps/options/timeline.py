"""The option --timeline; the add-on apps.timelines writes the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from platforms.addons import provided
from platforms.command.request import Request, option

TIMELINE = "--timeline"
_CHROME, _PAJE = "Chrome's trace format (Perfetto)", "Paje (ViTE)"
OTF2 = "OTF2 (Vampir, otf2-print)"
FORMATS = {".json": _CHROME, ".paje": _PAJE, ".trace": _PAJE, ".otf2": OTF2}


def timeline_formats() -> str:
    """Return the endings and their formats in words."""
    return ", ".join(
        f"{' or '.join(ending for ending, format_name in FORMATS.items() if format_name == name)} for {name}"
        for name in dict.fromkeys(FORMATS.values())
    )


@dataclass(frozen=True, kw_only=True)
class TimelineOption(Request):
    """The option --timeline, whose value check_timeline and write_timeline of ``timelines`` take."""

    timeline: str | None = option(
        None,
        "FILE",
        f"write what each rank does when, of the iterations that are simulated: {timeline_formats()} "
        "(docs/programs/traces.md); the run is simulated once more for it",
    )


def timelines() -> Any:
    """Return the module apps.timelines.files.

    Raises:
        UserError: The add-on is not there.
    """
    return provided("apps.timelines.files")
