"""The end of both panels: a suite is saved, and queued unless it was to be saved only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlencode

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from validation.workbench.project.application_suites import ApplicationForm
from validation.workbench.project.folder import Project
from validation.workbench.project.suite_files import SuiteForm, TakenError, save
from validation.workbench.web.answers import desk_of, moved, record
from validation.workbench.web.forms import posted, renamed
from validation.workbench.web.lanes import in_lane

SEEN = "form_seen"  # field with the stamp of the suite's file that the panel shows
_Form = TypeVar("_Form", SuiteForm, ApplicationForm)


async def save_and_queue(
    request: Request,
    here: str,
    form_of: Callable[[FormData], _Form],
    text_of: Callable[[Project, _Form], str],
    refused: Callable[[_Form, str, str, Mapping[str, Any]], Response],
) -> Response:
    """Save the suite of a posted panel, queue it unless it was to be saved only, and answer with where to look next.

    Args:
        request: The request with the form.
        here: Address of the panel.
        form_of: Returns the panel's form from the posted fields.
        text_of: Returns the text of the suite; a UserError says what is wrong in it.
        refused: Returns the panel again, from the form, the error, the user's name as it was typed, and more values.
    """
    given = await posted(request)

    def done() -> Response:
        form, desk, typed = form_of(given), desk_of(request), str(given.get("user", ""))
        try:
            user = renamed(request, typed)
            text = text_of(desk.project, form)
            seen = None if given.get("replace") else str(given.get(SEEN, ""))
            if given.get("then") == "save":
                return moved(f"{here}?{urlencode({'suite': saved(request, form.name, text, seen)})}")
            return moved(f"/queue/{saved_and_queued(request, form.name, user, text, seen)}")
        except UserError as err:
            more = {"seen": str(given.get(SEEN, "")), "taken": isinstance(err, TakenError)}
            return refused(form, str(err), typed, more)

    return await in_lane(request, done)


def saved(request: Request, name: str, text: str, seen: str | None) -> str:
    """Save a suite that can be run and return its name; ``seen`` is as in ``suite_files.save``.

    Raises:
        UserError: It cannot be run or saved.
    """
    desk = desk_of(request)
    desk.count(text, planned=False)  # raises an error for what cannot be run
    name = save(desk.project, name, text, seen)
    record(request, f"saved the suite {name}")
    return name


def saved_and_queued(request: Request, name: str, user: str, text: str, seen: str | None) -> int:
    """Save and queue a suite and return its number in the queue.

    Raises:
        UserError: It cannot be run, saved or queued.
    """
    name = saved(request, name, text, seen)
    number = desk_of(request).add(name, user, text)
    record(request, f"queued the suite {name} as number {number}")
    return number
