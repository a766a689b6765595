"""Completion of ``gridval`` in the shells bash, fish and zsh."""

import os
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from validation.entrance.main import main

BIN = Path(sys.executable).parent
ASK = """
. "$2"
COMP_LINE=$1 COMP_POINT=${#1} COMP_TYPE=9 COMPREPLY=()
_python_argcomplete gridval "${1##* }" ""
printf '%s\\n' "${COMPREPLY[@]}"
"""
LINES = {
    "gridval pr": ["predict", "predictor", "program"],
    "gridval plan c": ["cores", "clock"],
    "gridval platform sh": ["show"],
    "gridval run --scen": ["--scenario"],
    "gridval run --predictor hcf,struct": ["hcf,structural"],
    "gridval run --scenario grid4x": ["grid4x2", "grid4x4", "grid4x8"],
    "gridval plan clock --sim": ["--simulate"],
    "gridval plan clock --opt": [],
    "gridval plan clock --simulate --opt": ["--optimum"],  # an option of the second of the two commands
    "gridval predict --back": ["--background"],
    "gridval predict --simulate --back": ["--background"],  # no command is chosen yet
    "gridval predict --background load.toml --dra": ["--draws"],
    "gridval predict --background load.toml --simulate --tru": ["--truths"],
    "gridval plan failures app.toml --simulate --run": ["--runs"],
    "gridval plan clock --compute n": ["none"],
    "gridval store li": ["list"],
    "gridval store list --older": ["--older-than"],
}
ENVIRONMENT = {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    """The script for bash, in a file."""
    path = tmp_path_factory.mktemp("completion") / "gridval.sh"
    with path.open("w") as file, redirect_stdout(file):
        assert main(["completion", "bash"]) == 0
    return path


@pytest.mark.parametrize("line", LINES)
def test_bash_completes(line, script):
    done = subprocess.run(["bash", "-c", ASK, "bash", line, script], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.stdout.split() == LINES[line], done.stderr


def test_fish_completes():
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    ask = 'gridval completion fish | source; complete -C "gridval platform sh"'
    done = subprocess.run(["fish", "-c", ask], env=ENVIRONMENT, capture_output=True, text=True)
    assert done.stdout.split()[0] == "show"


@pytest.mark.parametrize("shell", ["bash", "zsh", "FISH"])
def test_the_script_is_printed(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "gridval" in capsys.readouterr().out


def test_another_shell_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["completion", "bsah"])
    assert ended.value.code == 2 and "Did you mean bash?" in capsys.readouterr().err
