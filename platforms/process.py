"""Child processes that do not outlive the one that started them."""

from __future__ import annotations

import shutil


def die_with_parent() -> list[str]:
    """Words before a command that make it end when its parent is killed, where the system can do that."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL"] if setpriv else []
