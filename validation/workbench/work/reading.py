"""Requests to a worker that read suites and platforms: count the runs, list them, show a platform."""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from apps.runs.plan import plan_text
from apps.store import Store
from apps.store.database import DATABASE
from platforms.errors import UserError
from platforms.grids.scenario import named_grid, read_grid
from platforms.grids.xml import platform_xml
from platforms.model.platform import Platform
from platforms.read.content import named_files
from platforms.read.read import materialise, read_platform
from platforms.show.inspection import as_text, inspect
from platforms.system.convert import materialise_file
from platforms.wording import number_of
from validation.workbench.project.application_suites import is_of_applications
from validation.workbench.work.campaigns import campaign_now, content_of

MOST_MEMORY_BYTES = 3 << 30  # of the process that checks an upload, and of each that it starts
_NICE = 10  # so that pages come first
MOST_LOOKED_UP = 3000  # runs whose store entries are looked up


def count(
    folder: Path, text: str, store: str, jobs: int, *, planned: bool = True, cold: bool = False, far: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield how many runs and predictions a suite has, its plan in words, and an estimate of its time.

    Args:
        folder: The project folder.
        text: The suite.
        store: Folder of the store.
        jobs: Number of runs at a time.
        planned: Whether the plan and the estimate are wanted.
        cold: Worker processes have to start before the first run.
        far: Workers of a scheduler make the runs.
    """
    if is_of_applications(text):
        # Imported here for a quick start: workers that only read platforms and campaigns do not need it.
        from validation.workbench.work.counting import counted

        yield from counted(folder, text, store, jobs, planned=planned, cold=cold, far=far)
        return
    campaign = campaign_now(folder, text)
    size = {"runs": len(campaign.cases), "predictions": campaign.predictions}
    if not planned:
        if len(campaign.cases) <= MOST_LOOKED_UP:
            campaign.plan()  # raises an error for what a predictor cannot do at all
        yield {**size, "plan": [], "estimate": None}
        return
    # Imported here for a quick start: workers that only read platforms do not need it.
    from validation.workbench.work.suite_time import sampled, suite_time

    looked = campaign if len(campaign.cases) <= MOST_LOOKED_UP else sampled(campaign)
    with ExitStack() as stack:
        kept = None
        if (Path(store) / DATABASE).exists():
            kept = stack.enter_context(Store(Path(store), read_only=True))
        plan = looked.plan()
        said = plan_text(plan, kept, 0).splitlines()
        timed = suite_time(
            looked, plan, Path(store), kept, jobs=jobs, of=len(campaign.cases), cold=cold, far=far
        )  # fmt: skip
    if looked is not campaign:
        said.insert(0, f"of {number_of(len(looked.cases), 'run')} that are chosen evenly from all:")
    said += [str(timed)] if timed else []
    said += [f"left out: {reason}" for reason in campaign.left_out]
    yield {**size, "plan": said, "estimate": None if timed is None else asdict(timed)}


def expand(folder: Path, text: str) -> Iterator[dict[str, Any]]:
    """Yield the runs of a suite in their order, with the words that describe each."""
    if is_of_applications(text):
        # Imported here for a quick start: workers that only read platforms and campaigns do not need it.
        from validation.workbench.work.points import expanded

        yield {"cases": expanded(folder, text)}
        return
    cases = []
    for case in campaign_now(folder, text).cases:
        target, platform = case.target, case.target.platform
        cases.append(
            [
                platform.name, platform.network, target.problem.name, target.problem.label, target.nranks,
                case.mapping, str(case.settings.efficiency), content_of(target),
            ]
        )  # fmt: skip
    yield {"cases": cases}


def show(folder: Path, name: str = "", grid: str = "", *, picture: bool = False) -> Iterator[dict[str, Any]]:
    """Yield a platform as ``platforms.show`` shows it, its XML, and its picture as SVG.

    Args:
        folder: The project folder.
        name: A scenario, or a file.
        grid: Instead of a name, the text of a scenario file.
        picture: Draw the picture, and leave out the description.
    """
    platform, xml = _platform(name, grid)
    if picture:
        # Imported here for a quick start: it is slow to import.
        from platforms.picture import platform_figure
        from platforms.plotting.charts import rendered

        yield {"svg": rendered(platform_figure(platform), "svg").decode()}
        return
    os.chdir(folder)  # the description names the file relative to the current folder
    yield {"text": as_text(inspect(platform)), "xml": xml, "hosts": len(platform.hosts)}


def hello(_: Path) -> Iterator[dict[str, Any]]:
    """Yield an empty answer, which says that the process has started."""
    yield {}


def check_upload(folder: Path, path: str) -> Iterator[dict[str, Any]]:
    """Yield an empty answer if an uploaded platform file is sound; its process is of little weight, and ends then.

    Args:
        folder: The project folder.
        path: The file, in the folder of the platforms.

    Raises:
        UserError: SimGrid cannot load it, or it names files that are not in that folder.
    """
    os.nice(_NICE)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY_BYTES, MOST_MEMORY_BYTES))
    check_profiles(folder, path)
    inspect(read_platform(Path(path), Path(path).stem))
    yield {}


def check_profiles(folder: Path, path: str) -> None:
    """Check that a platform names no files but profiles in the folder of the platforms.

    Raises:
        UserError: It names others.
    """
    for profile in named_files(Path(path).read_bytes()):
        if not _is_profile(folder / "platforms", profile):
            problem = f"it names {profile!r}, which is not a file in the folder platforms"
            raise UserError(path, problem, "Copy that file into the folder first")


def _is_profile(platforms: Path, name: str) -> bool:
    path = platforms / name
    return "/" not in name and path.is_file() and path.resolve().is_relative_to(platforms.resolve())


def _platform(name: str, grid: str) -> tuple[Platform, str]:
    """Return a platform and the text of its XML file."""
    if grid:
        with tempfile.TemporaryDirectory() as private:
            path = Path(private) / "grid.toml"
            path.write_text(grid, "utf-8")
            try:
                made = read_grid(path)
            except UserError as err:
                raise err.renamed(str(path), "grid") from None
        return materialise(made), platform_xml(made).decode()
    if name.endswith(".xml"):
        platform = read_platform(Path(name), Path(name).stem)
    elif name.endswith(".toml"):
        platform = materialise_file(Path(name))
    else:
        platform = materialise(named_grid(name))
    return platform, platform.path.read_text("utf-8", errors="replace")
