"""Unexpected values of every option of every command give a result or one clear line, never a traceback."""

import importlib
import re

import pytest
from readers.command_line import WITHOUT_VERB, run
from readers.common import CORPUS, ROOT

from validation.entrance.choosing import all_commands

EXAMPLES = ROOT / "examples"
KERNEL = "--app cg --class S"
CHOICE = "--scenario ichikawa --app hpl --size 960 --no-store"
FAILURES = "--node-mtbf-years 5 --checkpoint 600 --work 3e9 --serial 1e-5 --nodes 1:10"
MODEL = "--system bwUniCluster --app hpl --n 2000"
TIMES = ROOT / "tests" / "apps" / "data" / "calibration" / "platform-calibration.csv"
REAL = f"{EXAMPLES}/real"
HPL = f"--app hpl --platform {REAL}/raspberry-pi.xml --size 300 --grid 2x2"
BLOCKS = f"{EXAMPLES}/blocks/master-slave.toml --system {EXAMPLES}/systems/merpsys.toml"
CHECKPOINTS = f"{BLOCKS} --count slave1=4 --checkpoint 1 --failure-rate 1e-9"
# Arguments that a command needs before it examines the option; by the words that choose it.
COMMANDS = {
    "platform make": "--scenario grid4x2 --output made.xml",
    "platform check": f"{EXAMPLES}/platforms/campus.xml",
    "platform show": f"{EXAMPLES}/platforms/campus.xml",
    "platform system": f"{EXAMPLES}/systems/kask.toml",
    "platform hardware": "",
    "program speed": "",
    "program build": "",
    "platform calibrate": f"--p2p {TIMES} --cluster a --nodes 2 --core-gflops 1 --out made.xml",
    "platform emulate": f"{EXAMPLES}/emulation/none.toml",
    "program run": f"{KERNEL} --ranks 2 --scenario grid4x2",
    "report": "no-results.csv --out no-folder/page.html",
    "store list": "",
    "store show": "KEY",
    "store export": "made.csv",
    "store prune": "",
    "blocks run": BLOCKS,
    "blocks block": "--model galera+ --block bcast --size 8 --processes 4",
    "blocks calibrate": "--scenario grid4x2 --no-store",
    "blocks figures": "--model kask",
    "blocks volunteers": f"{EXAMPLES}/blocks/volunteers.toml",
    "blocks volunteers --simulate": f"{EXAMPLES}/blocks/volunteers.toml --draws 1",
    "plan failures APP.toml": CHECKPOINTS,
    "plan failures APP.toml --simulate": CHECKPOINTS,
    "predictor list": "",
    "predictor check": "no-such-predictor --no-store",
    "plan grid": f"{EXAMPLES}/grid-design.toml",
    "graph": "--app is --class S --ranks 4",
    "plan clock": f"{KERNEL} --scenario grid4x2 --no-store",
    "plan job": f"{ROOT}/tests/apps/batch/scripts/hybrid.sbatch {KERNEL} --nodes 3 --scenario grid4x8 --no-store",
    "plan instance": f"{KERNEL} --ranks 2 --instances h3-standard-88 --no-store",
    "plan cores": MODEL.replace("hpl", "matrix-product"),  # a tenth of the work
    "plan nodes": CHOICE,
    "predict": f"{KERNEL} --scenario grid4x2 --no-store",
    "predict --dgemm": f"{HPL} --dgemm {REAL}/dahu/dgemm.csv",
    "predict --core-gflops": f"{HPL} --core-gflops 3",
    "predict --against": f"{KERNEL} --ranks 2 --scenario grid4x2 --no-store --against no-baseline.json",
    "predict --what-if": "--app is --class S --ranks 4 --scenario grid4x2 --what-if 2",
    "predict --what-if --simulate": f"{KERNEL} --ranks 2 --scenario grid4x2 --no-store --what-if 2",
    "scale": f"{KERNEL} --scenario grid4x2 --ranks 1:2 --no-store",
    "scale --simulate": f"{KERNEL} --scenario grid4x2 --ranks 1:2 --no-store",
    "predictor.prepare": "",
    "plan failures": FAILURES,
    "blocks run --simulate": BLOCKS,
    "doctor": "",
    "completion": "bash",
    "series campaign": f"{CORPUS}/campaign.toml --no-store",
    "plan clock --simulate": f"{KERNEL} --scenario grid4x2 --no-store",
    "graph --simulate": f"{KERNEL} --ranks 2 --scenario grid4x2 --no-store",
    "plan cores --simulate": MODEL,
    "series league": f"{KERNEL} --scenario grid4x2 --no-store",
    "series measured --terms": f"{REAL}/published/h3.csv --series system,app,build",
    "series measured": f"{REAL}/npb-raspberry-pi.csv --platform {REAL}/raspberry-pi.xml",
    "plan nodes --simulate": CHOICE,
    "series intervals": f"{CORPUS}/results.csv",
    "series map": "--no-store",
    "series workload": f"{CORPUS}/workload.toml --no-store",
    "plan failures --simulate": "--runs 1000 --simulations 0",
    "plan shares": "--app lu --class S --scenario grid4x2 --no-store",
    "predict --background": "--app ep --class S --scenario grid4x2 --background clusters --no-store",
    "predict --background --simulate": "--app ep --class S --scenario grid4x2 --background clusters --no-store",
    "plan shares --simulate": "--app lu --class S --scenario grid4x2 --no-store",
    "run --event": f"{KERNEL} --scenario grid4x2 --no-store",
    "predict --event": f"{KERNEL} --scenario grid4x2 --no-store",
    "run": f"{KERNEL} --scenario grid4x2 --no-store",
    "store same": "one other",
    "platform modes": "--cluster li-1 --no-store",
    "validation.modes.fit": "",
    "workbench": "/dev/null",  # no folder, so that no server starts
    "workbench user": "list --folder /dev/null",
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


def options_of(command: str) -> list[str]:
    """Return the options that take a value."""
    without_verb = command in WITHOUT_VERB
    parser = (importlib.import_module(command).COMMAND if without_verb else all_commands()[command]).parser()
    return [one.option_strings[-1] for one in parser._actions if one.option_strings and one.nargs != 0]


def check(command: str, option: str, value: str) -> None:
    needed = COMMANDS[command].split()
    # The arguments have the file that chooses the command, or the option that does, with its value.
    verb = " ".join(word for word in command.split() if word != "APP.toml" and word not in needed)
    words = [*needed, f"{option}={value}"]
    status, said = run(verb, words)
    assert status in (0, 2, 3), (command, words, said)
    assert status != 2 or len(said.splitlines()) == 1, (command, words, said)
    assert "Traceback" not in said


@pytest.mark.parametrize("command", COMMANDS)
def test_one_odd_value_of_every_option(command):
    for number, option in enumerate(options_of(command)):
        if option not in PICTURES:
            values = PLACES if option in WRITTEN else VALUES[:6]
            check(command, option, values[number % len(values)])


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_odd_value_of_every_option(command):
    for option in options_of(command):
        for value in PLACES if option in (*WRITTEN, *PICTURES) else VALUES:
            if (option in PICTURES) <= (value != "."):  # pictures that can be drawn take longer
                check(command, option, value)


def test_all_commands_are_there():
    assert {*all_commands(), *WITHOUT_VERB} == {*COMMANDS}


@pytest.mark.checkout
def test_every_command_has_a_verb_except_those_for_maintainers():
    declared = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for package in ("platforms", "apps", "predictor", "validation")
        for file in (ROOT / package).rglob("*.py")
        if re.search(r"^COMMAND\w* = Command\(", file.read_text("utf-8"), re.MULTILINE)
    }
    places = {one.place.partition(":")[0] for one in all_commands().values()}
    extended = {"predictor.predict", "validation.run"}  # of the core: predictor.costs and validation.costs add options
    assert declared == {*places, *WITHOUT_VERB, *extended}
