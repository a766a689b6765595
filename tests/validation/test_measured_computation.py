"""--compute measured: for programs of one's own, of which every command says that times vary; no kernel is timed."""

from pathlib import Path

import pytest

import predictor.design.cli
import predictor.frequency.cli
import predictor.optimize.cli
import predictor.predict
import predictor.reliability.cli
import validation.frequency.cli
import validation.league.cli
import validation.optimize.cli
import validation.run

EXAMPLES = Path(__file__).parents[2] / "examples"
KERNEL = "--scenario grid4x2 --app cg --class S"
CHOICE = "--scenario ichikawa --app hpl --size 960"
COMMANDS = {
    predictor.design.cli: str(EXAMPLES / "grid-design.toml"),
    predictor.frequency.cli: KERNEL,
    predictor.optimize.cli: CHOICE,
    predictor.predict: KERNEL,
    predictor.reliability.cli: f"--rate 1e-6 --checkpoint 1 {KERNEL}",
    validation.frequency.cli: KERNEL,
    validation.league.cli: KERNEL,
    validation.optimize.cli: CHOICE,
    validation.run: KERNEL,
}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: one.__name__)
def test_a_kernel_is_refused_in_one_line(refused, command):
    arguments = [*COMMANDS[command].split(), "--compute", "measured", "--no-store"]
    refused(command.main, arguments, "--compute measured: kernels inject their computation")


@pytest.mark.parametrize(
    "command", [predictor.predict, validation.league.cli, validation.run], ids=lambda one: one.__name__
)
def test_a_program_s_times_are_said_to_vary(command, capsys, monkeypatch):
    monkeypatch.setattr(command, "runner_from_arguments", lambda *_, **__: stop())
    program = ["--program", str(EXAMPLES / "jacobi" / "jacobi.c"), "--program-args", "100 {iterations}"]
    asked = ["--scenario", "grid4x2", "--program-iterations", "20", "--compute", "measured", "--host-speed", "10"]
    assert command.main([*program, *asked]) == 130
    assert capsys.readouterr().err.startswith(
        "caution: computation is timed on this machine: results vary from run to run"
    )


def stop():
    """What the user does then."""
    raise KeyboardInterrupt
