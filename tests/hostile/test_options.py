"""Unexpected values of every option of every command give a result or one clear line, never a traceback."""

import argparse
import importlib

import pytest
from readers.command_line import run
from readers.common import CORPUS, ROOT

EXAMPLES = ROOT / "examples"
KERNEL = "--app cg --class S"
CHOICE = "--scenario ichikawa --app hpl --size 960 --no-store"
FAILURES = "--node-mtbf-years 5 --checkpoint 600 --work 3e9 --serial 1e-5 --nodes 1:10"
MODEL = "--system bwUniCluster --app hpl --n 2000"
TIMES = ROOT / "tests" / "apps" / "data" / "calibration" / "platform-calibration.csv"
REAL = f"{EXAMPLES}/real"
BLOCKS = f"{EXAMPLES}/blocks/master-slave.toml --system {EXAMPLES}/systems/merpsys.toml"
CHECKPOINTS = f"{BLOCKS} --count slave1=4 --checkpoint 1 --failure-rate 1e-9"
# Arguments that a command needs before it examines the option; by command and subcommand.
COMMANDS = {
    ("platforms.generate", ""): "--scenario grid4x2 --output made.xml",
    ("platforms.inspect.check", ""): f"{EXAMPLES}/platforms/campus.xml",
    ("platforms.inspect.cli", ""): f"{EXAMPLES}/platforms/campus.xml",
    ("platforms.system.cli", ""): f"{EXAMPLES}/systems/kask.toml",
    ("platforms.system.catalogue", ""): "",
    ("apps.calibrate", ""): "",
    ("apps.calibration.cli", ""): f"--p2p {TIMES} --cluster a --nodes 2 --core-gflops 1 --out made.xml",
    ("apps.emulation.cli", ""): f"{EXAMPLES}/emulation/none.toml",
    ("apps.run", ""): f"{KERNEL} --ranks 2 --scenario grid4x2",
    ("apps.store.cli", "list"): "",
    ("apps.store.cli", "show"): "KEY",
    ("apps.store.cli", "export"): "made.csv",
    ("apps.store.cli", "prune"): "",
    ("predictor.blocks.cli", "run"): BLOCKS,
    ("predictor.blocks.cli", "block"): "--model galera+ --block bcast --size 8 --processes 4",
    ("predictor.blocks.cli", "calibrate"): "--scenario grid4x2 --no-store",
    ("predictor.blocks.cli", "figures"): "--model kask",
    ("predictor.checkpoints.cli", ""): CHECKPOINTS,
    ("validation.checkpoints.cli", ""): CHECKPOINTS,
    ("predictor.check", ""): "no-such-predictor --no-store",
    ("predictor.design.cli", ""): f"{EXAMPLES}/grid-design.toml",
    ("predictor.dpgraph.cli", ""): "--app is --class S --ranks 4",
    ("predictor.frequency.cli", ""): f"{KERNEL} --scenario grid4x2 --no-store",
    ("predictor.hierarchical.cli", ""): MODEL.replace("hpl", "matrix-product"),  # a tenth of the work
    ("predictor.optimize.cli", ""): CHOICE,
    ("predictor.predict", ""): f"{KERNEL} --scenario grid4x2 --no-store",
    ("predictor.prepare", ""): "",
    ("predictor.reliability.cli", ""): FAILURES,
    ("validation.blocks.cli", ""): BLOCKS,
    ("validation.doctor.cli", ""): "",
    ("validation.entrance.completion", ""): "bash",
    ("validation.campaign", ""): f"{CORPUS}/campaign.toml --no-store",
    ("validation.frequency.cli", ""): f"{KERNEL} --scenario grid4x2 --no-store",
    ("validation.graph.cli", ""): f"{KERNEL} --ranks 2 --scenario grid4x2 --no-store",
    ("validation.hierarchical.cli", ""): MODEL,
    ("validation.league.cli", ""): f"{KERNEL} --scenario grid4x2 --no-store",
    ("validation.measured.cli", ""): f"{REAL}/npb-raspberry-pi.csv --platform {REAL}/raspberry-pi.xml",
    ("validation.optimize.cli", ""): CHOICE,
    ("validation.intervals.cli", ""): f"{CORPUS}/results.csv",
    ("validation.regimes.cli", ""): "--no-store",
    ("validation.reliability.cli", ""): FAILURES,
    ("predictor.shares.cli", ""): "--app lu --class S --scenario grid4x2 --no-store",
    ("predictor.shared.cli", ""): "--app ep --class S --scenario grid4x2 --background clusters --no-store",
    ("validation.shared.cli", ""): "--app ep --class S --scenario grid4x2 --background clusters --no-store",
    ("validation.shares.cli", ""): "--app lu --class S --scenario grid4x2 --no-store",
    ("validation.run", ""): f"{KERNEL} --scenario grid4x2 --no-store",
    ("validation.same", ""): "one other",
    ("validation.sendmodes.cli", ""): "--cluster li-1 --no-store",
    ("validation.sendmodes.fit", ""): "",
    ("validation.workbench.cli", ""): "/dev/null",  # no folder, so that no server starts
}
WRITTEN = (
    "--out",
    "--output",
    "--report",
    "--store",
    "--write-hostfile",
    "--write",
    "--picture",
    "--draw",
    "--graphml",
)
PICTURES = ("--figures", "--plot")  # options that take long
PLACES = ("", "two\nlines", "x" * 5000, ".", "/dev/zero/x", "\udcff")
VALUES = (
    "nan", "-1", "inf", "0", "99999999999999999999", "", "1e999", "x" * 5000, "9" * 5000, "-inf", "1e-320", "1e308",
    "\u0663", "1_0", " ", "two\nlines", "-x", "\udcff", "1:9999999999", "0:0", "-5:5", "1,,2",
    "nan,nan", "a=b", "=", ":", "0x10",
)  # fmt: skip


def options_of(command: str, subcommand: str) -> list[str]:
    """Return the options that take a value."""
    parser = importlib.import_module(command).build_parser()
    if subcommand:
        (choice,) = (one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
        parser = choice.choices[subcommand]
    return [one.option_strings[-1] for one in parser._actions if one.option_strings and one.nargs != 0]


def check(command: str, words: list[str]) -> None:
    status, said = run(command, words)
    assert status in (0, 2, 3), (words, said)
    assert status != 2 or len(said.splitlines()) == 1, (words, said)
    assert "Traceback" not in said


def words_for(command: str, subcommand: str, option: str, value: str) -> list[str]:
    needed = COMMANDS[command, subcommand].split()
    return [*([subcommand] if subcommand else []), *needed, f"{option}={value}"]


@pytest.mark.parametrize("command, subcommand", COMMANDS)
def test_one_odd_value_of_every_option(command, subcommand):
    for number, option in enumerate(options_of(command, subcommand)):
        if option not in PICTURES:
            values = PLACES if option in WRITTEN else VALUES[:6]
            check(command, words_for(command, subcommand, option, values[number % len(values)]))


@pytest.mark.slow
@pytest.mark.parametrize("command, subcommand", COMMANDS)
def test_every_odd_value_of_every_option(command, subcommand):
    for option in options_of(command, subcommand):
        for value in PLACES if option in (*WRITTEN, *PICTURES) else VALUES:
            if (option in PICTURES) <= (value != "."):  # pictures that can be drawn take longer
                check(command, words_for(command, subcommand, option, value))


def test_all_commands_are_there():
    with_options = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for package in ("platforms", "apps", "predictor", "validation")
        for file in (ROOT / package).rglob("*.py")
        if "def build_parser" in file.read_text("utf-8")
    }
    assert with_options == {command for command, _ in COMMANDS}
