"""The application of a workbench: its pages behind the guard."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware

from platforms.errors import UserError
from validation.workbench.dispatch.desk import Desk
from validation.workbench.guard.guard import BODY_S, PAUSE_S, Guard
from validation.workbench.guard.tokens import Tokens
from validation.workbench.pages.routes import ROUTES
from validation.workbench.web.answers import missing_page, trouble_page, user_error_page


def application(
    desk: Desk, tokens: Tokens, *, bound: str = "127.0.0.1", body_s: float = BODY_S, pause_s: float = PAUSE_S
) -> Starlette:
    """Return the application of a project.

    Args:
        desk: The project, its queue and its workers; they start and end with the application.
        tokens: The tokens of the project.
        bound: The address on which the server listens.
        body_s: Longest time for the body of a request, s.
        pause_s: Longest pause within it, s.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        desk.start()
        try:
            yield
        finally:
            desk.closing = True
            await run_in_threadpool(desk.stop)

    made = Starlette(
        routes=ROUTES,
        lifespan=lifespan,
        middleware=[Middleware(Guard, tokens=tokens, bound=bound, body_s=body_s, pause_s=pause_s)],
        exception_handlers={
            UserError: user_error_page,
            OSError: trouble_page,
            sqlite3.OperationalError: trouble_page,
            404: missing_page,
        },
    )
    made.state.desk, made.state.tokens = desk, tokens
    return made
