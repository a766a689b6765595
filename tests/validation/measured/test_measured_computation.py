"""--compute measured: commands refuse it for kernels."""

import pytest

from platforms.command.request import fields_of
from validation.entrance.choosing import all_commands
from validation.entrance.main import main


def commands_with_settings():
    """Each command with --compute: its words, and whether it has --program."""
    for words, chosen in all_commands().items():
        keys = {field.key for field in fields_of(chosen.command.request)}
        if "compute" in keys:
            yield words, "program" in keys


TIMING = [command for command, programs in commands_with_settings() if programs]
IN_FILES = ("series workload",)  # their files name programs
KERNELS_ALONE = [command for command, programs in commands_with_settings() if not programs and command not in IN_FILES]


def named(commands):
    return pytest.mark.parametrize("command", commands)


def test_commands_that_take_programs_are_found():
    assert {"program run", "predict", "run", "graph"} <= set(TIMING)


@named(["program run", "predict", "run", "graph"])
def test_a_kernel_is_refused_in_one_line(refused, command):
    arguments = "--scenario grid4x2 --app cg --class S --compute measured".split()
    refused(main, [*command.split(), *arguments], "--compute measured: kernels inject their computation")


@named(KERNELS_ALONE)
def test_a_command_for_kernels_alone_times_nothing(capsys, command):
    with pytest.raises(SystemExit) as end:
        all_commands()[command].command.main(["--compute", "measured"])
    error = capsys.readouterr().err
    assert end.value.code == 2 and error.count("\n") == 1
    assert "--compute/--computation: invalid choice: 'measured'" in error
    with pytest.raises(SystemExit):
        main([*command.split(), "--help-all"])
    said = capsys.readouterr().out
    assert "--compute" in said and "--host-speed" not in said
