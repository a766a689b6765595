"""The command ``gridval workbench``."""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import dataclass

from apps.results.cautions import print_cautions
from apps.runs.scheduler import SchedulerOptions, open_to_strangers, scheduler_from_request
from platforms.command.command import Command
from platforms.command.request import argument, option
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError

PORT = 8765
_NEEDED = {
    **{name: name for name in ("filelock", "starlette", "tomlkit", "uvicorn")},
    "multipart": "python-multipart",
}


@dataclass(frozen=True, kw_only=True)
class WorkbenchRequest(SchedulerOptions):
    """Request of ``gridval workbench``."""

    folder: str = argument(
        "DIR",
        "the project folder, made if it is missing (default: workbench, in the current folder)",
        default="workbench",
    )
    port: int = option(PORT, "", f"port (default: {PORT}; 0: any that is free)")
    address: str = option(
        "127.0.0.1",
        "",
        "address to listen on (default: 127.0.0.1, this computer alone); on others a browser needs the token that "
        "the server prints, and whoever has it can start runs here",
    )
    jobs: int | None = option(None, "N", "runs at a time (default: the number of cores)")
    store: str | None = option(
        None, "DIR", "folder in which records are looked up and kept (default: in the cache folder)"
    )
    allow_programs: bool = option(
        False, help="also run suites that name code: predictors of your own, platforms in C++"
    )


def _run(request: WorkbenchRequest) -> int:
    missing = [name for module, name in _NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        remedy = f"Run: {sys.executable} -m pip install 'gridval[workbench]'"
        raise UserError("workbench", f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing", remedy)
    jobs = (os.cpu_count() or 1) if request.jobs is None else request.jobs
    if jobs < 1:
        raise UserError(f"--jobs {jobs}", "not positive", "Give at least 1")
    if not 0 <= request.port <= 65535:
        raise UserError(f"--port {request.port}", "not a port", "Give a number from 0 to 65535")
    for flag in ("store", "folder"):
        if getattr(request, flag) == "":
            raise UserError(flag if flag == "folder" else "--store", "an empty name", "Name a folder")
    # Imported here for a quick start: they are slow to import.
    from validation.workbench.project.folder import open_project
    from validation.workbench.server import serve

    scheduler = scheduler_from_request(request)
    project = open_project(
        request.folder, request.store, scheduler=scheduler, jobs=jobs, allow_programs=request.allow_programs
    )
    print_cautions(open_to_strangers(scheduler))
    return serve(project, address=request.address, port=request.port)


COMMAND = Command(
    "workbench",
    WorkbenchRequest,
    _run,
    "Serve the workbench of a project folder: make and look at platforms, draw systems of levels, edit "
    "and evaluate applications in blocks, put suites of runs into a queue, and see their results in a browser. Its "
    "platforms, applications and suites are plain files (TOML, XML), which all commands take.",
    epilog=f"docs/workbench.md. {EXIT_STATUSES}",
)
main = COMMAND.main
