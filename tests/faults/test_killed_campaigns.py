"""Campaigns that are killed or interrupted, whose output is not read, or that run beside each other."""

import csv
import os
import pty
import re
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
KILLS = [sys.executable, str(ROOT / "benchmarks" / "kill_campaign.py")]
LONG = "--scenario all --app mg,lu --class W --iterations full --jobs 2"  # long runs: signals arrive during one


# A command that prints a line of progress for every run, instead of one a minute, and none of other activities.
EVERY_RUN_TOLD = """
import sys
from importlib import import_module
from platforms.terminal import progress
progress.LINES_S = 0
progress.ACTIVITY_LINES_S = 1e6
sys.exit(import_module(sys.argv[1]).main(sys.argv[2:]))
"""


def validation(marked, tmp_path, *arguments):
    (tmp_path / "scratch").mkdir(exist_ok=True)
    environment = {**marked.environment, "TMPDIR": str(tmp_path / "scratch")}
    return [sys.executable, "-c", EVERY_RUN_TOLD, "validation.run", *arguments], environment


def test_a_campaign_killed_at_five_random_moments_has_the_results_of_an_undisturbed_one():
    done = subprocess.run(
        [*KILLS, *"--kills 5 --seed 3 --apps mg --predictors hcf".split()], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].startswith("5 kills in ")


@pytest.mark.slow
def test_a_campaign_killed_at_fifty_random_moments_has_the_results_of_an_undisturbed_one():
    done = subprocess.run([*KILLS, *"--kills 50 --seed 4".split()], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("death", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGHUP])
def test_a_signal_ends_a_command_and_all_that_it_started(marked, tmp_path, death):
    command, environment = validation(marked, tmp_path, *LONG.split(), "--no-store")
    listening = ["env", f"--default-signal={death.name}"]  # nohup may have started these tests
    started = subprocess.Popen(
        [*listening, *command], env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    )
    started.stderr.readline()  # one run is finished, and others have begun
    started.send_signal(death)
    _, errors = started.communicate(timeout=30)
    assert (started.returncode, errors.splitlines()[-1]) == (130, "interrupted")
    assert marked.gone() and os.listdir(tmp_path / "scratch") == []


@pytest.mark.slow
def test_a_hangup_that_is_to_be_ignored_is(marked, tmp_path):
    command, environment = validation(marked, tmp_path, *"--scenario grid4x2 --app mg --class S --no-store".split())
    words = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *command]  # as nohup does
    started = subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    started.stderr.readline()
    started.send_signal(signal.SIGHUP)
    started.communicate(timeout=30)
    assert started.returncode == 0


@pytest.mark.slow
def test_a_terminal_that_goes_away_ends_a_command_and_all_that_it_started(marked, tmp_path):
    command, environment = validation(marked, tmp_path, *LONG.split(), "--no-store")
    listening = ["env", "--default-signal=HUP"]  # nohup may have started these tests
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(listening[0], [*listening, *command], environment)
    termios.tcsetwinsize(terminal, (24, 80))  # without a size, nothing is shown
    said = b""
    while not re.search(rb" [1-9]\d* of 1[0-9] ", said):  # the progress bar moves
        said += os.read(terminal, 4096)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    assert marked.gone() and os.listdir(tmp_path / "scratch") == []


def test_when_nobody_reads_the_progress_any_more_the_command_ends(marked, tmp_path):
    command, environment = validation(marked, tmp_path, *LONG.split(), "--no-store")
    started = subprocess.Popen(command, env=environment, stderr=subprocess.STDOUT, stdout=subprocess.PIPE)
    started.stdout.readline()
    started.stdout.close()
    assert started.wait(timeout=60) == 141
    assert marked.gone() and os.listdir(tmp_path / "scratch") == []


@pytest.mark.slow
def test_files_are_written_even_where_nobody_reads_the_tables(marked, tmp_path):
    out = tmp_path / "out"
    arguments = f"--scenario grid4x2 --app mg --class S --no-store --out {out}"
    command, environment = validation(marked, tmp_path, *arguments.split())
    started = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.PIPE)
    started.stdout.close()
    assert started.wait(timeout=60) == 141
    with open(out / "results.csv", newline="") as file:
        assert [row["predictor"] for row in csv.DictReader(file)] == ["structural", "hcf:constant", "hcf"]


@pytest.mark.parametrize("predictor", ["hcf", pytest.param("dpgraph", marks=pytest.mark.slow)])
def test_two_campaigns_on_one_store_make_every_run_once(marked, tmp_path, predictor):
    shared = f'networks = ["gigabit", "metro"]\napps = ["mg"]\nclasses = ["S"]\npredictors = ["{predictor}"]'
    for name, scenarios in (("a", ["grid4x2", "grid4x4"]), ("b", ["grid4x2", "grid4x8"])):
        (tmp_path / f"{name}.toml").write_text(f"scenarios = {scenarios}\n{shared}\n")
    common = ["--jobs", "2", "--store", "store"]
    started = [
        subprocess.Popen(
            [sys.executable, "-c", EVERY_RUN_TOLD, "validation.campaign", f"{name}.toml", "--out", out, *common],
            cwd=tmp_path, env=marked.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )
        for name, out in (("a", "out-1"), ("a", "out-2"), ("b", "out-3"))
    ]  # fmt: skip
    errors = [one.communicate(timeout=120)[1] for one in started]
    assert [one.returncode for one in started] == [0, 0, 0]
    assert "warning" not in "".join(errors) and "error" not in "".join(errors)
    # By hand: three grids on two networks; each has a run, and the grids of a network share a probe of four ranks.
    shown = [line for text in errors for line in re.findall(r"^\[.*\] \d+ of \d+: (.*)$", text, re.MULTILINE)]
    simulated = [line for line in shown if " ranks of " in line]  # the others are about predictions
    assert len(simulated) <= 2 * (3 + 3)  # three processes may each run the probe
    targets = [line for line in simulated if " 4 ranks" not in line]
    assert len(targets) == 2 * 3

    def rows(out):
        with open(tmp_path / out / "results.csv", newline="") as file:
            return [{name: value for name, value in row.items() if "wall" not in name} for row in csv.DictReader(file)]

    assert rows("out-1") == rows("out-2")
    assert len(rows("out-3")) == 2 * 2
