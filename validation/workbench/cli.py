"""The command ``gridval workbench``."""

from __future__ import annotations

import getpass
import importlib.util
import os
import sys
from dataclasses import dataclass

from apps.results.cautions import print_cautions
from apps.runs.scheduler import SchedulerOptions, open_to_strangers, scheduler_from_request
from platforms.command.command import Command
from platforms.command.request import Request, argument, option
from platforms.command.status import EXIT_STATUSES
from platforms.errors import UserError

PORT = 8765
ACTIONS = ("add", "list", "remove")
_NEEDED = {
    **{name: name for name in ("filelock", "starlette", "tomlkit", "uvicorn")},
    "argon2": "argon2-cffi",
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
        "address to listen on (default: 127.0.0.1, this computer alone); a browser needs the link that the server "
        "prints, or an account, and whoever has one can start runs here",
    )
    names: tuple[str, ...] = option(
        (),
        "NAME",
        "a further name by which browsers reach the server, such as that of a proxy; may be repeated",
        name="--name",
    )
    webhooks: tuple[str, ...] = option(
        (),
        "URL",
        "an address that gets a message (JSON, by POST) when a suite ends; may be repeated",
        name="--webhook",
    )
    jobs: int | None = option(None, "N", "runs at a time (default: the number of cores)")
    store: str | None = option(
        None, "DIR", "folder in which records are looked up and kept (default: in the cache folder)"
    )
    allow_programs: bool = option(
        False, help="also run suites that name code: predictors of your own, platforms in C++"
    )


def _check_installed() -> None:
    missing = [name for module, name in _NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        remedy = f"Run: {sys.executable} -m pip install 'gridval[workbench]'"
        raise UserError("workbench", f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing", remedy)


def _run(request: WorkbenchRequest) -> int:
    _check_installed()
    jobs = (os.cpu_count() or 1) if request.jobs is None else request.jobs
    if jobs < 1:
        raise UserError(f"--jobs {jobs}", "not positive", "Give at least 1")
    if not 0 <= request.port <= 65535:
        raise UserError(f"--port {request.port}", "not a port", "Give a number from 0 to 65535")
    for flag in ("store", "folder"):
        if getattr(request, flag) == "":
            raise UserError(flag if flag == "folder" else "--store", "an empty name", "Name a folder")
    # Imported here for a quick start: they are slow to import.
    from validation.workbench.dispatch.webhooks import MOST_WEBHOOKS, checked_webhook
    from validation.workbench.project.folder import open_project
    from validation.workbench.server import serve
    from validation.workbench.work.sandbox import sandbox_trouble

    if len(request.webhooks) > MOST_WEBHOOKS:
        raise UserError("--webhook", f"given {len(request.webhooks)} times", f"Give at most {MOST_WEBHOOKS}")
    for address in request.webhooks:
        checked_webhook(address)
    scheduler = scheduler_from_request(request)
    project = open_project(
        request.folder, request.store, scheduler=scheduler, jobs=jobs, allow_programs=request.allow_programs,
        webhooks=request.webhooks,
    )  # fmt: skip
    print_cautions(open_to_strangers(scheduler))
    if request.allow_programs and (trouble := sandbox_trouble()):
        print_cautions([f"code in suites has all rights of this account, because there is no sandbox: {trouble}"])
    return serve(project, address=request.address, port=request.port, names=request.names)


@dataclass(frozen=True, kw_only=True)
class UserRequest(Request):
    """Request of ``gridval workbench user``."""

    action: str = argument("ACTION", "add, list or remove", choices=ACTIONS)
    name: str = argument("NAME", "the name of the account", default="")
    role: str = option(
        "editor", "", "with add: owner (everything), editor (platforms, applications and suites; cancels and removes "
        "suites of its own only) or viewer (changes nothing)", choices=("owner", "editor", "viewer"),
    )  # fmt: skip
    folder: str = option("workbench", "DIR", "the project folder (default: workbench, in the current folder)")


def _change_users(request: UserRequest) -> int:
    _check_installed()
    # Imported here for a quick start: they are slow to import.
    from validation.workbench.guard.accounts import Accounts
    from validation.workbench.project.folder import open_project

    if not request.name and request.action != "list":
        raise UserError("NAME", "missing", f"Give the name of the account to {request.action}")
    if request.name and request.action == "list":
        raise UserError(f"NAME {request.name!r}", "list shows all accounts", "Leave it out")
    accounts = Accounts(open_project(request.folder).private / "accounts.sqlite")
    try:
        if request.action == "add":
            accounts.add_user(request.name, request.role, _password())
            print(f"{request.name} may log in as {request.role}", flush=True)
        elif request.action == "remove":
            accounts.remove_user(request.name)
            print(f"{request.name} is removed and logged out", flush=True)
        else:
            print(
                "\n".join(f"{user['name']}  {user['role']}" for user in accounts.users()) or "no accounts", flush=True
            )
    finally:
        accounts.close()
    return 0


def _password() -> str:
    """Return the password that a user types twice, or the first line of standard input where it is no terminal."""
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    typed = getpass.getpass("password: ")
    if getpass.getpass("the same again: ") != typed:
        raise UserError("password", "typed differently the second time", "Try again")
    return typed


COMMAND_USER = Command(
    "workbench user",
    UserRequest,
    _change_users,
    "Add, list or remove accounts of a workbench. A password is asked for, or read from standard input. Accounts can "
    "be changed while the server runs; with one or more of them each user logs in with a name and a password, and the "
    "link that the server prints is for whoever started it.",
    epilog=f"docs/workbench.md. {EXIT_STATUSES}",
)


COMMAND = Command(
    "workbench",
    WorkbenchRequest,
    _run,
    "Serve the workbench of a project folder: make and look at platforms, draw systems of levels, edit "
    "and evaluate applications in blocks, put suites of runs into a queue, and see their results in a browser. Its "
    "platforms, applications and suites are plain files (TOML, XML), which all commands take.",
    epilog=f"gridval workbench user: accounts. docs/workbench.md. {EXIT_STATUSES}",
)
main = COMMAND.main
