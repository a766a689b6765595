"""Say whether programs can run on all hosts of a platform: SimGrid reads it, and its hosts are on and connected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from platforms.command.command import Command
from platforms.command.request import JsonOption
from platforms.command.status import EXIT_STATUSES
from platforms.options import check_usable, platform_from_request
from platforms.show.cli import FileOptions, with_file
from platforms.wording import number_of

if TYPE_CHECKING:
    from platforms.model.platform import Platform
    from platforms.show.inspection import Note


@dataclass(frozen=True, kw_only=True)
class CheckRequest(FileOptions, JsonOption):
    """A platform to check."""


@dataclass(frozen=True)
class Usable:
    """A platform that programs can run on."""

    platform: Platform
    notes: Sequence[Note]  # what is worth knowing of it

    def text(self) -> str:
        """Return it as lines of text."""
        hosts = self.platform.hosts
        parts = (
            number_of(len(hosts), "host"),
            number_of(sum(host.cores for host in hosts), "core"),
            number_of(len(self.platform.clusters), "cluster"),
        )
        said = f"{', '.join(parts)}; SimGrid reads it, all hosts are on and connected."
        notes = [f"worth knowing, {note.kind}: {note.text}" for note in self.notes]
        return "\n".join([f"{self.platform.name} can be used: {said}", *notes])

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"platform": self.platform.name, "usable": True, "notes": [asdict(note) for note in self.notes]}


def answer(request: CheckRequest) -> Usable:
    """Check the platform.

    Raises:
        UserError: Programs cannot run on all hosts.
    """
    platform = platform_from_request(with_file(request))
    check_usable(platform, tuple(host.name for host in platform.hosts))
    # Imported here because it is slow to import.
    from platforms.show.inspection import inspect

    return Usable(platform, inspect(platform).notes)


COMMAND = Command(
    "platform check",
    CheckRequest,
    answer,
    __doc__,
    epilog=f"docs/platforms/own-platform.md. {EXIT_STATUSES}",
)
main = COMMAND.main
