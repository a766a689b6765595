"""The page of access: sessions, accounts, links and the audit list."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from platforms.errors import UserError
from validation.workbench.guard.accounts import ACCESS, OWNER, Accounts
from validation.workbench.queue.results import PAGE, number_in
from validation.workbench.web.answers import desk_of, moved, page, person_of, record
from validation.workbench.web.forms import posted


def show(request: Request) -> Response:
    """Answer with the sessions, accounts, links and the latest entries of the audit list."""
    accounts = _of_owner(request)
    at = number_in(request.query_params, "page") or 1
    return page(
        request, "access.html", users=accounts.users(), sessions=accounts.sessions(), links=accounts.links(),
        webhooks=desk_of(request).webhooks.latest(),
        audited=accounts.audited(offset=(at - 1) * PAGE, limit=PAGE), at=at,
        pages=max(1, -(-accounts.count_audited() // PAGE)),
    )  # fmt: skip


async def act(request: Request) -> Response:
    """End a session, or take back a link."""
    fields = await posted(request)
    accounts, action = _of_owner(request), request.path_params["action"]
    number = number_in({"number": str(fields.get("number", ""))}, "number")
    if number is None or action not in ("end", "take-back"):
        raise UserError(f"action {action!r}", "no such action", "Use the buttons of the page")
    if action == "end":
        accounts.end(number)
        record(request, f"ended session {number}", ACCESS)
    else:
        accounts.take_back(number)
        record(request, f"took back link {number}", ACCESS)
    return moved("/access")


def _of_owner(request: Request) -> Accounts:
    """Return the accounts.

    Raises:
        UserError: Who asks is not an owner.
    """
    if person_of(request).role != OWNER:
        raise UserError("access", "only an owner sees this page", "Ask one")
    accounts: Accounts = request.app.state.accounts
    return accounts
