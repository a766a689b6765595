"""The folder, the environment and the command line of one child process under smpirun."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from apps.child.process import Finished
from apps.results.energy import plugin_options
from platforms.errors import UserError
from platforms.simgrid.child import clean_environment
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


_CATEGORIES = (
    *("LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_MONETARY", "LC_TIME", "LC_ADDRESS", "LC_IDENTIFICATION"),
    *("LC_MEASUREMENT", "LC_NAME", "LC_PAPER", "LC_TELEPHONE"),
)
# SimGrid allocates and frees objects for every message: these limits, in items and bytes, save an eighth of a run's
# processor time.
_MEMORY = ":".join(
    f"glibc.malloc.{name}={value}"
    for name, value in {"tcache_count": 16000, "trim_threshold": 1 << 30, "top_pad": 1 << 24}.items()
)


MOST_ENTRIES = 100_000  # of the current folder
WORK = "work"  # the working folder of a run, inside the run's own


def working_folder(folder: Path, files: Mapping[str, str] = MappingProxyType({})) -> Path:
    """Make a folder inside the run's folder, with links to all entries of the current folder, and return it.

    ``files``, given by name and text, replace links.  Simultaneous runs then do not write the same files, and new files
    are removed with the run's folder.

    Raises:
        UserError: The current folder has too many entries.
    """
    work = folder / WORK
    work.mkdir()
    here = os.getcwd()
    with os.scandir(here) as entries:
        for number, entry in enumerate(entries):
            if number == MOST_ENTRIES:
                problem = f"it has more than {MOST_ENTRIES:,} entries, to which every run needs links"
                raise UserError(
                    "the current folder", problem, "Start the command in a parent folder, or in one with fewer entries"
                )
            if entry.name in files:
                continue
            (work / entry.name).symlink_to(os.path.join(here, entry.name))
    for name, text in files.items():
        (work / name).write_text(text, "utf-8", "surrogateescape")
    return work


def keep_output(folder: Path, done: Finished, work: Path) -> None:
    """Copy the output of a run, and the files created in its working folder, to a folder.

    Raises:
        UserError: The folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "stdout.txt").write_text(done.output, errors="surrogateescape")
        (folder / "stderr.txt").write_text(done.log, errors="surrogateescape")
        for made in work.iterdir():
            if made.is_symlink():  # a file of the current folder
                continue
            if made.is_dir():
                shutil.copytree(made, folder / "files" / made.name, symlinks=True, dirs_exist_ok=True)
            else:
                (folder / "files").mkdir(exist_ok=True)
                shutil.copy2(made, folder / "files" / made.name)
    except (OSError, shutil.Error) as err:
        reason = getattr(err, "strerror", None) or "its files cannot be copied"
        raise UserError(f"--keep-output {folder}", f"cannot be written: {reason}", "Name another folder") from err


def environment(folder: Path, **more: str) -> dict[str, str]:
    """Return the environment of a run: that of this process without variables for SimGrid's scripts, and its TMPDIR.

    Unless the user has set other values, the C library keeps freed memory, and OpenMP has one thread for each rank:
        more threads would compute outside simulated time.
    """
    usual = {"GLIBC_TUNABLES": _MEMORY, "OMP_NUM_THREADS": "1"}
    return {**usual, **_with_plain_numbers(clean_environment()), "TMPDIR": str(folder), **more}


def _with_plain_numbers(variables: dict[str, str]) -> dict[str, str]:
    """Return the variables with a locale in which numbers have a point.

    A program may call ``setlocale(LC_ALL, "")``, and SimGrid, in the same process, could not read its own options if
    they then had a comma.
    """
    everywhere = variables.pop("LC_ALL", "")
    if everywhere:
        variables |= dict.fromkeys(_CATEGORIES, everywhere)
    return {**variables, "LC_NUMERIC": "C"}
