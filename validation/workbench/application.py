"""The application of a workbench: its pages behind the guard."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from anyio import to_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware

from platforms.errors import UserError
from validation.workbench.dispatch.desk import Desk
from validation.workbench.guard.accounts import Accounts
from validation.workbench.guard.guard import BODY_S, PAUSE_S, Guard
from validation.workbench.guard.limits import Limits
from validation.workbench.guard.tokens import Tokens
from validation.workbench.pages.routes import ROUTES
from validation.workbench.pages.sharing import may_read
from validation.workbench.web.answers import missing_page, trouble_page, user_error_page
from validation.workbench.web.lanes import Lanes

_THREADS = 20  # that answer pages without waiting for a worker process; they take turns on the processor anyway


def application(
    desk: Desk, tokens: Tokens, *, bound: str = "127.0.0.1", names: tuple[str, ...] = (), body_s: float = BODY_S,
    pause_s: float = PAUSE_S,
) -> Starlette:  # fmt: skip
    """Return the application of a project.

    Args:
        desk: The project, its queue and its workers; they start and end with the application.
        tokens: The tokens of the project.
        bound: The address on which the server listens.
        names: Further names by which browsers reach it.
        body_s: Longest time for the body of a request, s.
        pause_s: Longest pause within it, s.
    """
    accounts, limits = Accounts(desk.project.private / "accounts.sqlite"), Limits()

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = _THREADS
        desk.start()
        try:
            yield
        finally:
            desk.closing = True
            await run_in_threadpool(desk.stop)
            accounts.close()

    made = Starlette(
        routes=ROUTES,
        lifespan=lifespan,
        middleware=[
            Middleware(
                Guard,
                tokens=tokens,
                accounts=accounts,
                limits=limits,
                may_read=partial(may_read, desk),
                bound=bound,
                names=names,
                body_s=body_s,
                pause_s=pause_s,
            )
        ],
        exception_handlers={
            UserError: user_error_page,
            OSError: trouble_page,
            sqlite3.OperationalError: trouble_page,
            404: missing_page,
        },
    )
    made.state.desk, made.state.tokens, made.state.accounts, made.state.limits = desk, tokens, accounts, limits
    made.state.lanes = Lanes()
    return made
