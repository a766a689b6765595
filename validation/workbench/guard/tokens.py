"""Tokens: of the server for addresses other than this computer's own, and of a browser's forms."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping

from platforms.errors import UserError

SESSION = "workbench_session"  # cookies
ACCESS = "workbench_access"
FIELD = "form_token"  # hidden field of every form
_SESSION = re.compile(r"[0-9a-f]{32}")


class Tokens:
    """Makes and checks tokens by a secret that the project keeps, so that they outlive a restart."""

    def __init__(self, secret: bytes):
        self._secret = secret

    @property
    def access(self) -> str:
        """The token that a browser needs once where the server listens on other addresses."""
        return self._made("access")

    def may_access(self, token: str) -> bool:
        """Return whether this is the token of the server."""
        return hmac.compare_digest(token.encode(), self.access.encode())

    def form(self, session: str) -> str:
        """Return the token for the forms of a browser's session."""
        return self._made(f"form {session}")

    def check_form(self, session: str, fields: Mapping[str, object]) -> None:
        """Check the token that came with a form.

        Raises:
            UserError: It is not that of the session.
        """
        given = fields.get(FIELD)
        if not session or not isinstance(given, str) or not hmac.compare_digest(
            given.encode(), self.form(session).encode()
        ):  # fmt: skip
            raise UserError("form", "it does not come from this workbench", "Reload the page and send it again")

    def _made(self, purpose: str) -> str:
        return hmac.new(self._secret, purpose.encode(), hashlib.sha256).hexdigest()[:40]


def new_session() -> str:
    """Return the random name of a new session."""
    return secrets.token_hex(16)


def known_session(text: str | None) -> str:
    """Return the session of a cookie; empty if the cookie has none."""
    return text if text is not None and _SESSION.fullmatch(text) else ""
