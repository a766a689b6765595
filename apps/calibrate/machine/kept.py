"""Rows that an interrupted calibration of a machine has measured: the next one goes on from them."""

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

_MOST_AGE_S = 86_400.0  # of what is kept: nodes and networks change
_ONCE = ("node", "send-waits", "recv-waits", "end")  # experiments of which the last measurement counts


@dataclass(frozen=True)
class Kept:
    """Files in which the rows of a calibration are kept until its platform is written.

    Every host of the machine sees their folder.
    """

    kernels: Path  # rows of kernels
    earlier: Path  # rows of messages, of commands before this one
    running: Path  # rows of messages that the measuring program is writing

    def kernel_rows(self) -> tuple[MachineTime, ...]:
        """Return the kept rows of kernels."""
        return _read(self.kernels)

    def add_kernels(self, rows: Sequence[MachineTime]) -> None:
        """Keep further rows of kernels."""
        with suppress(OSError):  # without a place to keep them they are lost if the command is interrupted
            self.kernels.parent.mkdir(parents=True, exist_ok=True)
            with self.kernels.open("a") as file:
                if file.tell() == 0:
                    file.write(",".join(COLUMNS) + "\n")
                file.write(written_rows(rows))

    def begin(self) -> tuple[MachineTime, ...]:
        """Return the rows of messages that earlier commands have measured, and keep them apart from further ones."""
        rows = _joined(_read(self.earlier), _read(self.running))
        with suppress(OSError):
            self.earlier.parent.mkdir(parents=True, exist_ok=True)
            if rows:
                self.earlier.write_text(",".join(COLUMNS) + "\n" + written_rows(rows))
            self.running.unlink(missing_ok=True)
        return rows

    def written_now(self) -> tuple[MachineTime, ...]:
        """Return the rows of messages that this command has measured."""
        return _read(self.running)

    def clear(self) -> None:
        """Forget all rows, because their platform is written."""
        with suppress(OSError):
            for file in (self.kernels, self.earlier, self.running):
                file.unlink(missing_ok=True)


def kept_of(machine: Machine) -> Kept:
    """Return the files of a machine, by everything that can change what is measured on it."""
    folder = (machine.folder or cache_folder()) / "calibrations"
    stem = machine.content_hash[:24]
    return Kept(*(folder / f"{stem}.{part}.csv" for part in ("kernels", "earlier", "running")))


def _read(path: Path) -> tuple[MachineTime, ...]:
    """Return the complete rows of a file; a line that was being written is left out, and a file that is old or none."""
    try:
        if abs(time.time() - path.stat().st_mtime) > _MOST_AGE_S:  # it is not younger where the clock was put back
            return ()
        text = path.read_text(encoding="utf-8")
        return parsed_rows(text[: text.rfind("\n") + 1], str(path))
    except (OSError, UnicodeDecodeError, UserError):
        return ()


def together(earlier: Sequence[MachineTime], later: Rows) -> Rows:
    """Return a measurement with what earlier ones of the same nodes have measured; other nodes' rows are left out."""
    return Rows(later.nodes, _joined(earlier, later.rows))


def _joined(first: Sequence[MachineTime], then: Sequence[MachineTime]) -> tuple[MachineTime, ...]:
    """Return the rows of two measurements, one after the other; groups of rows measured at once stay apart.

    If the nodes are not the same, or the second one has not come so far, the rows of one of them alone.
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
