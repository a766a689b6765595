"""Input files of a user's program that are made for each run, because they contain the number of iterations."""

from __future__ import annotations

import os
from collections.abc import Sequence

from apps.errors import OptionError
from platforms.files.reading import input_bytes

_MOST_BYTES = 16 << 20


def read_templates(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return name and text of each file that is given as NAME=TEMPLATE or TEMPLATE, in the order of the names.

    Without NAME a file has the name of its template.

    Raises:
        OptionError: A template cannot be read, a name has a folder, or two files have one name.
    """
    made: dict[str, str] = {}
    for text in texts:
        name, equals, template = text.partition("=")
        if not equals:
            name, template = os.path.basename(text), text
        where = f"--program-file {text}"
        if not name or name in (".", "..") or "/" in name or not template:
            remedy = "Write NAME=TEMPLATE, NAME without a folder, or the name of the template alone"
            raise OptionError(where, "not the name of a file in the folder of a run", remedy)
        if name in made:
            raise OptionError(where, f"there are two files {name}", "Drop one")
        try:
            content = input_bytes(template, most_bytes=_MOST_BYTES)
        except OSError as err:
            raise OptionError(where, f"{template} cannot be read: {err.strerror}", "Name an existing file") from err
        made[name] = content.decode("utf-8", "surrogateescape")
    return tuple(sorted(made.items()))
