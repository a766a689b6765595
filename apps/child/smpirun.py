"""The command line of smpirun, and the host file that it needs."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from apps.results.energy import plugin_options
from platforms.simgrid.installed import find_program


def smpirun_command(
    program: str,
    arguments: Sequence[str] = (),
    *,
    nranks: int,
    host_file: str,
    platform: Path,
    options: Mapping[str, str],
    energy: Sequence[str] = (),
    privatize: bool = False,
    wrapper: str = "",
) -> list[str]:
    """Return the command as a list of words.

    smpirun is a shell script that quotes only the platform: everything else needs a plain name (``is_plain`` in
    platforms/files/scratch.py), as scratch folders have.

    Args:
        program: The program, as smpirun finds it from the current folder.
        arguments: Arguments of the program.
        nranks: Number of ranks.
        host_file: A file with the host of every rank, one per line.
        platform: The platform file.
        options: SimGrid's options by name.
        energy: Parts whose energy is measured: "hosts", "links".
        privatize: Whether SMPI separates the global variables of the ranks.
        wrapper: Words to be put before the program; empty: none.
    """
    found = find_program("smpirun")
    return [
        found if found is not None and found != shutil.which("smpirun") else "smpirun",
        *(["-wrapper", wrapper] if wrapper else []),
        *("-np", str(nranks), "-hostfile", host_file),
        *("-platform", str(platform)),
        *([] if privatize else ["-no-privatize"]),
        *(f"--cfg={key}:{value}" for key, value in options.items()),
        *plugin_options(tuple(energy)),
        program,
        *arguments,
    ]


def write_host_file(path: Path, hosts: Iterable[str]) -> None:
    """Write the host of every rank, one per line."""
    path.write_text("".join(f"{host}\n" for host in hosts))
