"""Fixtures that run commands again under other circumstances."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

# Stops the clock with which the programs measure themselves: then all their output must be the same, to the byte.
STOPPED = (
    "import runpy, sys, time; time.perf_counter = lambda: 0.0; sys.argv = sys.argv[1:]; "
    "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
)
LOCALES = ("tr_TR.utf8", "de_DE.utf8", "C")  # a comma in numbers, a dotless i; plain ASCII if none is installed


@dataclass(frozen=True)
class Circumstances:
    """Circumstances on which results must not depend."""

    variables: dict[str, str] = field(default_factory=dict)
    folder: str | None = None  # current folder of the command; None: a new one
    options: tuple[str, ...] = ()
    wrapper: tuple[str, ...] = ()


def _threads(count):
    return {f"{name}_NUM_THREADS": str(count) for name in ("OMP", "OPENBLAS", "MKL")}


def _locale():
    listed = subprocess.run(["locale", "-a"], capture_output=True, text=True, check=False).stdout.split()
    return next((name for name in LOCALES if name in listed), "C")


PLAIN = Circumstances({"PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8", **_threads(1)}, options=("--jobs", "1"))
OTHER = Circumstances(
    {"PYTHONHASHSEED": "4711", "TZ": "Pacific/Kiritimati", "LC_ALL": _locale(), **_threads(4)},
    folder="/",
    options=("--jobs", "3"),
    wrapper=("setarch", "-R") if shutil.which("setarch") else (),  # without random addresses
)


@pytest.fixture(scope="session")
def repeat(tmp_path_factory):
    """``repeat(circumstances, module, arguments, stopped=True)``: a command's output; ``stopped`` stops the clock.

    {out} in the arguments stands for a new folder, whose contents are then the output.
    """

    def run(circumstances, module, arguments, *, stopped=True):
        folder = tmp_path_factory.mktemp("run")
        out = folder / "out"
        arguments = [argument.replace("{out}", str(out)) for argument in (*arguments, *circumstances.options)]
        command = ["-c", STOPPED, module] if stopped else ["-m", module]
        # The command finds the project from any folder.
        paths = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
        done = subprocess.run(
            [*circumstances.wrapper, sys.executable, *command, *arguments], cwd=circumstances.folder or folder,
            env={**os.environ, **circumstances.variables, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode()
        return out if any(str(out) in argument for argument in arguments) else done.stdout

    return run


@pytest.fixture(scope="session")
def plain():
    return PLAIN


@pytest.fixture(scope="session")
def other():
    return OTHER
