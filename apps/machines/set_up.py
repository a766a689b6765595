"""Set-up lines of a machine, such as ``module load openmpi``, executed before its compilers and its launcher.

Each tool gets a script of its own in the cache folder, which runs the lines in a login shell and then the tool.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from pathlib import Path

from platforms.files.caching import cache_folder, write_atomically

_SHELL = "/bin/bash"


def behind(lines: Sequence[str], tool: str) -> str:
    """Return the name of a script that runs the lines and becomes the tool; the tool itself without any line.

    A line that fails ends the script with its message, which the tool's caller reports, and its status; but with 1
    instead of 127, which would look like a missing tool.
    """
    if not lines:
        return tool
    text = script_text(lines, f'exec {shlex.quote(tool)} "$@"')
    folder = cache_folder() / "set-up" / hashlib.sha256(text.encode()).hexdigest()[:16]
    script = folder / Path(tool).name
    if not script.exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(script, text.encode(), executable=True)
    return str(script)


def script_text(lines: Sequence[str], last: str) -> str:
    """Return a login shell script: the lines, each of which must succeed, and the last one."""
    checked = [f"{line} || exit $(($? == 127 ? 1 : $?))" for line in lines]
    return "\n".join([f"#!{_SHELL} -l", *checked, last, ""])


def with_lines(script: str, lines: Sequence[str]) -> str:
    """Return a batch script with the lines before its first command, after the comments read by a batch system."""
    if not lines:
        return script
    text = script.splitlines()
    place = next((i for i, line in enumerate(text) if line.strip() and not line.startswith("#")), len(text))
    return "\n".join([*text[:place], *lines, *text[place:], ""])
