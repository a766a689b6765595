"""The end of both panels: a suite is saved, and queued unless it was to be saved only."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from urllib.parse import urlencode

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from validation.workbench.project.application_suites import ApplicationForm
from validation.workbench.project.folder import Project
from validation.workbench.project.suite_files import SuiteForm, save
from validation.workbench.web.answers import desk_of, moved, record
from validation.workbench.web.forms import posted, renamed
from validation.workbench.web.lanes import in_lane

_Form = TypeVar("_Form", SuiteForm, ApplicationForm)


async def save_and_queue(
    request: Request,
    here: str,
    form_of: Callable[[FormData], _Form],
    text_of: Callable[[Project, _Form], str],
    refused: Callable[[_Form, str, str], Response],
) -> Response:
    """Save the suite of a posted panel, queue it unless it was to be saved only, and answer with where to look next.

    Args:
        request: The request with the form.
        here: Address of the panel.
        form_of: Returns the panel's form from the posted fields.
        text_of: Returns the text of the suite; a UserError says what is wrong in it.
        refused: Returns the panel again, from the form, the error and the user's name as it was typed.
    """
    given = await posted(request)

    def done() -> Response:
        form, desk, typed = form_of(given), desk_of(request), str(given.get("user", ""))
        try:
            user = renamed(request, typed)
            text = text_of(desk.project, form)
            desk.count(text, planned=False)  # raises an error for what cannot be run
            name = save(desk.project, form.name, text)
            if given.get("then") == "save":
                record(request, f"saved the suite {name}")
                return moved(f"{here}?{urlencode({'suite': name})}")
            number = desk.add(name, user, text)
            record(request, f"queued the suite {name} as number {number}")
            return moved(f"/queue/{number}")
        except UserError as err:
            return refused(form, str(err), typed)

    return await in_lane(request, done)
