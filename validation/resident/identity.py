"""Commands that the resident process may answer, and the place of its socket.

This is imported before anything else of the project, and therefore imports almost nothing.
"""

from __future__ import annotations

import binascii
import os
import stat
import sys

TYPE_CHECKING = False  # the module typing takes longer to import than all that is here
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SWITCH = "GRIDVAL_WORKER"
# Set by continuous integration, batch systems and pytest, or for a measured Python.
_OFF = (
    *("CI", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PYTEST_CURRENT_TEST"),
    *("PYTHONINSPECT", "COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG", "_ARGCOMPLETE"),
)
# Verbs that serve for longer, ask for passwords, measure or describe the process that they run in.
_VERBS = frozenset({"workbench", "program", "doctor", "completion", "--version"})
_GROUPED = frozenset({"calibrate", "emulate", "modes"})  # the same, of platform
_WORDS = ("--machine", "--scheduler", "/dev/fd/", "/proc/self/", "/dev/tty")
# Variables that act while Python starts or a module is imported; all others are set before a command.
_AT_START = tuple("PYTHON LD_ LC_ LANG OPENBLAS OMP_ MKL_ BLIS_ NPY_ MPL MALLOC_ GLIBC_ TZ".split())
_PRIVATE = 0o077  # what others may do
_LONGEST = 100  # bytes of a socket's path


def may_answer(words: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Return whether the resident process may run the command with these words."""
    if environment.get(SWITCH) == "0" or any(name in environment for name in _OFF) or sys.platform != "linux":
        return False
    if None in (sys.stdin, sys.stdout, sys.stderr):  # closed: what is opened next would take their numbers
        return False
    if not words or words[0] in _VERBS or (words[0] == "platform" and words[1:2] and words[1] in _GROUPED):
        return False
    if any(beginning in word for word in words for beginning in _WORDS) or "pytest" in sys.modules:
        return False
    if os.getuid() != os.geteuid() or os.getgid() != os.getegid():
        return False
    started = sys.orig_argv[1:] if len(sys.orig_argv) > 1 else [""]  # no options of Python's own
    return os.path.basename(started[0]) == "gridval" or started[:2] == ["-m", "gridval"]


def identity(environment: Mapping[str, str]) -> str:
    """Return what a resident process and a command must have in common: Python, limits, namespaces, variables."""
    variables = sorted(item for item in environment.items() if item[0].startswith(_AT_START))
    spaces = [os.readlink(f"/proc/self/ns/{name}") for name in ("mnt", "pid", "net", "user", "ipc", "uts")]
    texts = [_text(f"/proc/self/{name}") for name in ("limits", "cgroup")]
    return repr((
        *(sys.version, sys.executable, sys.prefix, sys.path, tuple(sys.flags), sys.warnoptions, __file__, variables),
        *(os.getuid(), os.getgid(), sorted(os.getgroups()), os.getpriority(os.PRIO_PROCESS, 0)),
        *(sorted(os.sched_getaffinity(0)), spaces, texts, _text("/proc/sys/kernel/random/boot_id")),
        os.readlink("/proc/self/root"),
    ))  # fmt: skip


def socket_path(folder: str, name: str) -> str:
    """Return the path of the socket of the resident process with this identity."""
    return os.path.join(folder, f"{binascii.crc32(name.encode('utf-8', 'surrogateescape')):08x}.socket")


def private_folder(environment: Mapping[str, str]) -> str | None:
    """Return the folder of a user's sockets, which nobody else may enter; make it if it is absent.

    None: the folder cannot be made, is another user's or open to others, or its path is too long for a socket.
    """
    cache = environment.get("GRID_VALIDATOR_CACHE") or os.path.join(
        environment.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "grid-prediction-validator"
    )
    folder = os.path.join(os.path.abspath(os.path.expanduser(cache)), "resident")
    if len(os.fsencode(folder)) > _LONGEST - len("/00000000.socket.0000000"):
        return None
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        os.mkdir(folder, 0o700)
        found = os.lstat(folder)
    is_private = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & _PRIVATE
    return folder if is_private else None


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()
