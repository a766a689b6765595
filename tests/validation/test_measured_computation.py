"""--compute measured: commands warn that times of user programs vary, and refuse it for kernels."""

import importlib
from pathlib import Path

import pytest

from validation.entrance.choosing import all_commands

ROOT = Path(__file__).parents[2]
JACOBI = ROOT / "examples" / "jacobi" / "jacobi.c"


def commands_with_settings():
    """Each command with --compute: its module, and whether it has --program."""
    for chosen in all_commands().values():
        words = chosen.parser().format_usage().split()
        if "[--compute" in words:
            yield importlib.import_module(chosen.place), "[--program" in words


TIMING = [command for command, programs in commands_with_settings() if programs]
KERNELS_ALONE = [command for command, programs in commands_with_settings() if not programs]


def named(commands):
    return pytest.mark.parametrize("command", commands, ids=lambda one: one.__name__)


def test_commands_of_both_kinds_are_found():
    assert {"apps.run", "predictor.predict", "validation.run"} <= {command.__name__ for command in TIMING}
    assert {"predictor.grid.cli", "predictor.nodes.cli"} <= {command.__name__ for command in KERNELS_ALONE}


@named(TIMING)
def test_a_kernel_is_refused_in_one_line(refused, command):
    arguments = "--scenario grid4x2 --app cg --class S --compute measured".split()
    refused(command.main, arguments, "--compute measured: kernels inject their computation")


@named(KERNELS_ALONE)
def test_a_command_for_kernels_alone_times_nothing(capsys, command):
    with pytest.raises(SystemExit) as end:
        command.main(["--compute", "measured"])
    error = capsys.readouterr().err
    assert end.value.code == 2 and error.count("\n") == 1
    assert "--compute/--computation: invalid choice: 'measured'" in error
    assert "--host-speed" not in command.COMMAND.parser().format_help()


@named([command for command in TIMING if "runner_from_request" in vars(command)])
def test_a_program_s_times_are_said_to_vary(command, capsys, monkeypatch):
    monkeypatch.setattr(command, "runner_from_request", lambda *_, **__: stop())
    program = ["--program", str(JACOBI), "--program-args", "100 {iterations}"]
    asked = ["--scenario", "grid4x2", "--program-iterations", "20", "--compute", "measured", "--host-speed", "10"]
    assert command.main([*program, *asked]) == 130
    assert capsys.readouterr().err.startswith(
        "caution: computation is timed on this machine: results vary from run to run"
    )


def stop():
    """Stop like a user who interrupts the command."""
    raise KeyboardInterrupt
