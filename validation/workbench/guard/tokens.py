"""Tokens: of the server, which its link has, and of a browser's forms."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping

from platforms.errors import UserError

FIELD = "form_token"  # hidden field of every form


class Tokens:
    """Makes and checks tokens.

    Args:
        secret: The secret of the project, from which the tokens of forms are made, so that they outlive a restart.
    """

    def __init__(self, secret: bytes):
        self._secret = secret
        self.access = secrets.token_hex(24)  # another one at each start: whoever is logged in stays so

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
