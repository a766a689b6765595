"""Campaigns that a worker has read, so that it reads each suite once."""

from __future__ import annotations

import functools
import hashlib
import tempfile
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path

from apps.spec.target import Target
from platforms.errors import UserError
from platforms.read.content import content_of as file_content
from validation.campaign import read_campaign
from validation.series.case import Case
from validation.series.series import Series
from validation.workbench.project.application_suites import is_of_applications

_KEPT = 4
MOST_CASES = 50_000  # runs of a suite


class Campaigns:
    """The latest campaigns, by their text."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, Series] = OrderedDict()

    def read(self, folder: Path, text: str) -> Series:
        """Return the campaign of a suite's text; file names in it are relative to the folder of the suites.

        Raises:
            UserError: The suite is wrong, or has more than MOST_CASES runs.
        """
        key = hashlib.sha256(text.encode()).hexdigest()
        if key not in self._known:
            self._known[key] = campaign_of(folder, text)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(key)
        return self._known[key]


def campaign_of(folder: Path, text: str) -> Series:
    """Return the campaign of a suite's text, read again.

    Raises:
        UserError: The suite is wrong, or has more than MOST_CASES runs.
    """
    if is_of_applications(text):
        remedy = "Use gridval blocks run with --timeline, --vary or --out"
        raise UserError("suite", "suites of applications have no timeline and no report page", remedy)
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        try:
            campaign = read_campaign(file.name, folder / "suites")
        except UserError as err:
            raise err.renamed(file.name, "suite") from None
    if len(campaign.cases) > MOST_CASES:
        raise UserError("suite", f"a product of {len(campaign.cases)} runs", f"Ask for at most {MOST_CASES}")
    return campaign


def case_of(folder: Path, text: str, case: int, known: str) -> Case:
    """Return one run of a suite, if its platform and program are still those of the hash ``known``.

    Raises:
        UserError: The suite is wrong, or one of them has changed.
    """
    chosen = campaign_of(folder, text).cases[case]
    if content_of(chosen.target) != known:
        problem = "it, or the program, has changed since the suite was queued"
        raise UserError(chosen.target.platform.name, problem, "Queue it again")
    return chosen


def campaign_now(folder: Path, text: str) -> Series:
    """Return the campaign of a suite's text as its files are now; it is not read again if none of them has changed.

    Raises:
        UserError: As ``campaign_of`` does.
    """
    campaign = _read(folder, text, _state(folder))
    platforms = {id(case.target.platform): case.target.platform for case in campaign.cases}.values()
    if any(
        platform.file_hash is not None and file_content(platform.path) != platform.file_hash for platform in platforms
    ):
        _read.cache_clear()  # a file that a platform names, in another folder
        return campaign_of(folder, text)
    return campaign


@functools.lru_cache(maxsize=2)
def _read(folder: Path, text: str, state: tuple[object, ...]) -> Series:
    return campaign_of(folder, text)


def _state(folder: Path) -> tuple[object, ...]:
    """Return what changes with any file that suites may name."""
    entries: list[object] = []
    for part in ("platforms", "programs", "suites"):
        for path in sorted((folder / part).rglob("*")):
            with suppress(OSError):  # removed in the meantime, or a link that leads nowhere
                state = path.stat()
                entries.append((path, state.st_mtime_ns, state.st_size, state.st_ino))
    return tuple(entries)


def content_of(target: Target) -> str:
    """Return the hash of what a run depends on that can change in the project: the platform, and the user's program."""
    program = target.problem.program
    return target.platform.content_hash + ("" if program is None else f"+{program.content_hash}")
