"""Rows measured by an interrupted calibration of a machine, from which the next one continues."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from apps.calibrate.machine.rows import COLUMNS, MachineTime, Rows, parsed_rows, written_rows
from apps.machines.machine_file import Machine
from platforms.errors import UserError
from platforms.files.caching import cache_folder

_MOST_AGE_S = 86_400.0  # largest age of kept rows: nodes and networks change
_ONCE = ("node", "send-waits", "recv-waits", "end")  # experiments whose latest measurement counts


@dataclass(frozen=True)
class Kept:
    """Files in which the rows of a calibration are kept until its platform is written.

    Their folder is visible on every host of the machine.
    """

    kernels: Path  # rows of kernels
    earlier: Path  # rows of messages, from earlier commands
    running: Path  # rows of messages being written by the measuring program

    def kernel_rows(self) -> tuple[MachineTime, ...]:
        """Return the kept rows of kernels."""
        return _read(self.kernels)

    def add_kernels(self, rows: Sequence[MachineTime]) -> None:
        """Keep further rows of kernels."""
        with suppress(OSError):  # without a file they are lost if the command is interrupted
            self.kernels.parent.mkdir(parents=True, exist_ok=True)
            with self.kernels.open("a") as file:
                if file.tell() == 0:
                    file.write(",".join(COLUMNS) + "\n")
                file.write(written_rows(rows))

    def begin(self) -> tuple[MachineTime, ...]:
        """Return the rows of messages measured by earlier commands, and store them separately from new ones."""
        rows = _joined(_read(self.earlier), _read(self.running))
        with suppress(OSError):
            self.earlier.parent.mkdir(parents=True, exist_ok=True)
            if rows:
                self.earlier.write_text(",".join(COLUMNS) + "\n" + written_rows(rows))
            self.running.unlink(missing_ok=True)
        return rows

    def written_now(self) -> tuple[MachineTime, ...]:
        """Return the rows of messages measured by this command."""
        return _read(self.running)

    def clear(self) -> None:
        """Forget all rows, because their platform is written."""
        with suppress(OSError):
            for file in (self.kernels, self.earlier, self.running):
                file.unlink(missing_ok=True)


def kept_of(machine: Machine) -> Kept:
    """Return the files of a machine, named by everything that affects its measurements."""
    folder = (machine.folder or cache_folder()) / "calibrations"
    stem = machine.content_hash[:24]
    return Kept(*(folder / f"{stem}.{part}.csv" for part in ("kernels", "earlier", "running")))


def _read(path: Path) -> tuple[MachineTime, ...]:
    """Return the complete rows of a file, without a partly written line; none if the file is old or missing."""
    try:
        if abs(time.time() - path.stat().st_mtime) > _MOST_AGE_S:  # also old if the clock was put back
            return ()
        text = path.read_text(encoding="utf-8")
        return parsed_rows(text[: text.rfind("\n") + 1], str(path))
    except (OSError, UnicodeDecodeError, UserError):
        return ()


def together(earlier: Sequence[MachineTime], later: Rows) -> Rows:
    """Return a measurement with the rows of earlier ones on the same nodes; rows of other nodes are left out."""
    return Rows(later.nodes, _joined(earlier, later.rows))


def _joined(first: Sequence[MachineTime], then: Sequence[MachineTime]) -> tuple[MachineTime, ...]:
    """Return the rows of two measurements, concatenated; groups of rows measured at once stay separate.

    If the nodes differ, or the second measurement did not get that far, only the rows of one of them.
    """
    nodes, later_nodes = ({row.first: row.group for row in rows if row.experiment == "node"} for rows in (first, then))
    if nodes != later_nodes:
        return tuple(then if later_nodes else first)
    groups = 1 + max((row.group for row in first), default=-1)
    at_s = max((row.at_s for row in first), default=0.0)
    moved = (
        replace(row, at_s=row.at_s + at_s, group=row.group + (0 if row.experiment == "node" else groups))
        for row in then
    )
    return (*(row for row in first if row.experiment not in _ONCE), *moved)
