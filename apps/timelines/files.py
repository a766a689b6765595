"""Write the timeline of a run to a file, in the format of its ending."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from apps.options.timeline import FORMATS, OTF2, timeline_formats
from platforms.errors import UserError
from platforms.files.writing import check_writable, write_lines

if TYPE_CHECKING:
    from apps.results.record import RunRecord
    from apps.spec.run_spec import RunSpec
    from apps.timelines.activities import Activities


def check_timeline(option: str, text: str) -> None:
    """Check that a timeline can be written at this place; an existing file is not changed.

    Raises:
        UserError: The ending is not one of FORMATS, a library is missing, or no file can be written there.
    """
    check_writable(option, text)
    where, ending = f"{option} {text}", Path(text).suffix
    if ending not in FORMATS:
        raise UserError(where, f"no format for the ending {ending!r}", f"Give it the ending {timeline_formats()}")
    if FORMATS[ending] != OTF2:
        return
    if find_spec("otf2") is None:
        raise UserError(
            where, "this format needs the library otf2", "Install it (python -m pip install otf2), or write .json"
        )
    for name in _archive(Path(text)):
        if name.exists():
            raise UserError(where, f"{name} already exists", "Remove it, or choose another name")


def _archive(path: Path) -> tuple[Path, Path, Path]:
    """Return the two files and the folder of an archive in OTF2."""
    return path, path.with_suffix(".def"), path.with_suffix("")


def write_timeline(option: str, text: str, spec: RunSpec, record: RunRecord, time_limit_s: float | None = None) -> str:
    """Write the timeline of the iterations that were simulated for the record; return what was written, in words.

    The spec is simulated once more, with the recorder (apps/timelines/activities.py).

    Args:
        option: The option that names the file, for error messages.
        text: The file.
        spec: The run.
        record: The record of the run.
        time_limit_s: Wall time that the simulation may take; None: any.

    Raises:
        UserError: As check_timeline, or the program calls a function that the recorder does not know.
        SimulationError: The run does not succeed.
    """
    # Imported here because it is slow to import.
    from apps.timelines.activities import record_activities

    check_timeline(option, text)
    said = write_activities(option, text, record_activities(spec, record, time_limit_s=time_limit_s))
    if spec.compute == "measured" and spec.work is None:
        said += "; it is from a separate run, and measured computation varies from run to run"
    return said


def write_activities(option: str, text: str, activities: Activities) -> str:
    """Write a timeline, for whose file check_timeline was called; return what was written, in words.

    Raises:
        UserError: The file cannot be written.
    """
    # Imported here because they are slow to import.
    from apps.timelines.moments import chrome_lines, paje_lines

    name = FORMATS[Path(text).suffix]
    if name == OTF2:
        # Imported here because it may not be installed.
        from apps.timelines.archive import write_archive

        try:
            write_archive(activities, Path(text))
        except OSError as err:
            raise UserError(f"{option} {text}", f"cannot be written: {err}", "Choose another place") from err
    else:
        write_lines(option, text, (chrome_lines if Path(text).suffix == ".json" else paje_lines)(activities))
    count = sum(len(rank.begin_s) for rank in activities.ranks)
    return f"{text} shows {activities.scope}: {count:,} activities, {len(activities.messages.sent_s):,} messages"
