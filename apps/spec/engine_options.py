"""SimGrid's options: those that the engines set, and checks of those that users give."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from apps.errors import OptionError
from platforms.model.platform import Platform

# Options that the engine sets; other values would make records incomparable or wrong.
ENGINE_OPTIONS = {"smpi/simulate-computation": "no", "network/model": "SMPI"}
# The words that SimGrid takes for yes and for no.
_WORDS = dict.fromkeys(("yes", "on", "true", "1"), "yes") | dict.fromkeys(("no", "off", "false", "0"), "no")
_UNNAMEABLE = re.compile(r"[\s:]")
_RESERVED_OPTIONS = {*ENGINE_OPTIONS, "smpi/privatization", "smpi/np", "smpi/hostfile", "smpi/tmpdir"}


def check_host_names(names: Iterable[str]) -> None:
    """Refuse hosts that SMPI's own host file cannot name.

    Raises:
        OptionError: A host's name has a space or a colon.
    """
    every = list(names)
    if _UNNAMEABLE.search("\0".join(every)) is None:  # at once: campaigns check thousands of long lists
        return
    for host in every:
        if _UNNAMEABLE.search(host) is not None:
            raise OptionError(f"host {host!r}", "smpirun's host file cannot name it", "Rename the host in the platform")


def check_options(options: Sequence[tuple[str, str]], platform: Platform, engine_options: dict[str, str]) -> None:
    """Refuse options of the user or the platform that contradict those of the engine.

    Raises:
        OptionError: An option is set by the engine, or has characters that smpirun cannot pass.
        OptionError: The platform's <config> sets an option that runs need otherwise.
    """
    for key, value in platform.options:
        needed = engine_options.get(key, value)
        if _WORDS.get(value, value) != _WORDS.get(needed, needed):
            where = f"platform {platform.name}"
            problem = f"its <config> sets {key} to {value}, but runs need {needed}"
            raise OptionError(where, problem, "Take it out")
    for key, value in options:
        if key in _RESERVED_OPTIONS or key in engine_options:
            raise OptionError(f"--cfg {key}:{value}", "set by the engine itself", "Leave it out")
        if set(key + value) & set(" \t\n*?[]\\'\"$`"):  # smpirun would split the option at them
            raise OptionError(f"--cfg {key}:{value}", "smpirun cannot pass such characters", "Leave them out")


def parse_options(texts: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Parse SimGrid options given as KEY:VALUE; the last value of a key counts.

    Raises:
        OptionError: A text has another form.
    """
    options = {}
    for text in texts:
        key, colon, value = text.partition(":")
        if not key or not colon:
            raise OptionError(f"--cfg {text}", "not of the form KEY:VALUE", "Write for example --cfg smpi/os:0:1e-6:0")
        options[key] = value
    return tuple(sorted(options.items()))


def trace_options(
    options: Sequence[tuple[str, str]], platform_options: Sequence[tuple[str, str]], folder: Path
) -> dict[str, str]:
    """Return SimGrid options that keep trace files asked for by the platform's <config> in the run's folder.

    A trace file that the user's own ``options`` name is written to the current folder.
    """
    if any(_is_of_traces(key) for key, _ in options):
        wanted = dict(options).get("tracing/filename")
        return {} if wanted is None else {"tracing/filename": os.path.abspath(wanted)}
    if not any(_is_of_traces(key) for key, _ in platform_options):
        return {}
    return {"tracing/filename": f"{folder}/simgrid.trace"}


def _is_of_traces(key: str) -> bool:
    return key.partition("/")[0] == "tracing"
