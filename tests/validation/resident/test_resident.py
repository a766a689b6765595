"""Commands run by the resident process end, print and obey as those that the shell's own process runs."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

from validation.resident import client, identity

pytestmark = pytest.mark.checkout
ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0
# A command with words of its own in place of the project's, which says who runs it.
SCRIPT = """
import sys
from gridval.__main__ import main
sys.exit(main())
"""
COMMAND = """
import os, signal, subprocess, sys, time
from validation.resident.client import answered

def run():
    word, *rest = sys.argv[1:]
    print(os.getppid() if word == "parent" else os.getpid(), flush=True)
    if word == "end":
        sys.exit(int(rest[0]))
    if word == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if word == "show":
        mask = os.umask(0)
        print(os.path.basename(os.getcwd()), os.environ.get("SHOWN"), oct(mask), sys.stdin.read(), *rest)
        print("error", file=sys.stderr)
    if word == "wait":
        try:
            open(rest[0], "w").close()
            time.sleep(60)
        except KeyboardInterrupt:
            open(rest[0] + ".interrupted", "w").close()
            return 130
    if word == "pour":
        try:
            while True:
                print("line")
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            return 141
    if word == "json":
        import json
        print("json" in sys.modules)
    return 0

def main():
    status = answered(sys.argv[1:])
    if status is None:
        status = run()
    return status

def serve(folder):
    from validation.resident.server import serve
    serve(folder, run, idle_s=float(os.environ.get("IDLE_S", "30")))
"""


class Commands:
    """A command `gridval` with words for these tests, and a cache folder whose name is short."""

    def __init__(self, folder):
        self.folder, self.script, self.resident = folder, folder / "gridval", folder / "resident"
        (folder / "lib" / "gridval").mkdir(parents=True)
        self.script.write_text(SCRIPT)
        (folder / "lib" / "gridval" / "__init__.py").touch()
        (folder / "lib" / "gridval" / "__main__.py").write_text(COMMAND)
        self.environment = {
            **{key: value for key, value in os.environ.items() if key not in (*identity._OFF, identity.SWITCH)},
            "GRID_VALIDATOR_CACHE": str(folder), "PYTHONPATH": f"{folder / 'lib'}{os.pathsep}{ROOT}",
        }  # fmt: skip

    def run(self, *words, **others):
        environment = {**self.environment, **others.pop("env", {})}
        command = [sys.executable, self.script, *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, **others)

    def start(self, *words, **others):
        command = [sys.executable, self.script, *words]
        return subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, text=True, **others)

    def sockets(self):
        return list(self.resident.glob("*.socket"))

    def resident_process(self):
        """Return the number of the resident process; start it if there is none."""
        until(lambda: int(self.run("parent").stdout) != os.getpid())
        return int(self.run("parent").stdout)

    def used_by(self, *words):
        """Return the reason why the resident process is not used."""
        return self.run(*words, env={"GRIDVAL_WORKER": "debug"}).stderr


def until(true):
    end_s = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < end_s
        time.sleep(0.01)


def is_running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture
def commands():
    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # the path of a socket has at most 108 bytes
    yield Commands(folder)
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if str(folder / "resident").encode() in path.read_bytes():
                os.kill(int(path.parent.name), signal.SIGKILL)
    shutil.rmtree(folder)


def test_a_resident_process_runs_commands_after_the_first(commands):
    first = commands.run("parent")
    assert int(first.stdout) == os.getpid()
    until(commands.sockets)
    resident = int(commands.run("parent").stdout)
    assert resident != os.getpid() and commands.run("parent").stdout == f"{resident}\n"
    assert commands.run("end", "7").returncode == 7


def test_folder_variables_mask_and_streams_are_those_of_the_caller(commands, tmp_path):
    commands.resident_process()
    shown = commands.run("show", "a b", input="text", cwd=tmp_path, env={"SHOWN": "é"}, umask=0o027)
    assert shown.stdout.splitlines()[1] == f"{tmp_path.name} é 0o27 text a b"
    assert shown.stderr == "error\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_reach_the_command(commands, tmp_path, number):
    commands.resident_process()
    begun = commands.start("wait", str(tmp_path / "begun"))
    until((tmp_path / "begun").exists)
    begun.send_signal(number)
    assert begun.wait(PATIENCE_S) == (130 if number == signal.SIGINT else -number)
    assert (tmp_path / "begun.interrupted").exists() == (number == signal.SIGINT)


def test_a_command_ends_with_its_caller(commands, tmp_path):
    commands.resident_process()
    begun = commands.start("wait", str(tmp_path / "begun"))
    process = int(begun.stdout.readline())
    begun.kill()
    begun.wait()
    until(lambda: not is_running(process))


def test_a_command_that_dies_is_reported_as_in_a_shell(commands):
    commands.resident_process()
    done = commands.run("die")
    assert done.returncode == -signal.SIGKILL
    assert len(done.stdout.split()) == 1  # it was not run a second time


def test_closed_streams_are_left_to_the_commands_own_process(monkeypatch):
    monkeypatch.delitem(sys.modules, "pytest")
    monkeypatch.setattr(sys, "orig_argv", ["python", "-m", "gridval"])
    assert identity.may_answer(["run"], {})
    monkeypatch.setattr(sys, "stdout", None)
    assert not identity.may_answer(["run"], {})


def test_a_reader_that_ends_ends_the_command(commands):
    commands.resident_process()
    begun = commands.start("pour")
    begun.stdout.readline()
    begun.stdout.close()
    assert begun.wait(PATIENCE_S) == 141


def test_two_commands_run_at_once(commands, tmp_path):
    resident = commands.resident_process()
    begun = [commands.start("wait", str(tmp_path / name)) for name in "ab"]
    until(lambda: all((tmp_path / name).exists() for name in "ab"))
    assert int(commands.run("parent").stdout) == resident
    for command in begun:
        command.send_signal(signal.SIGINT)
        assert command.wait(PATIENCE_S) == 130


def test_a_command_ends_when_its_caller_and_the_resident_process_were_killed(commands, tmp_path):
    resident = commands.resident_process()
    begun = commands.start("wait", str(tmp_path / "waits"))
    until((tmp_path / "waits").exists)
    os.kill(resident, signal.SIGKILL)
    begun.kill()
    copy = int(begun.stdout.readline())
    assert copy != begun.pid
    until(lambda: not is_running(copy))


def test_a_command_finishes_after_the_resident_process_was_killed(commands, tmp_path):
    resident = commands.resident_process()
    begun = commands.start("wait", str(tmp_path / "begun"))
    until((tmp_path / "begun").exists)
    os.kill(resident, signal.SIGKILL)
    begun.send_signal(signal.SIGINT)
    assert begun.wait(PATIENCE_S) == 130
    assert "there was none" in commands.used_by("end", "0")  # the socket is left, and nobody listens


def test_a_resident_process_that_is_stopped_is_not_waited_for(commands):
    resident = commands.resident_process()
    os.kill(resident, signal.SIGSTOP)
    assert int(commands.run("parent").stdout) == os.getpid()
    os.kill(resident, signal.SIGCONT)
    assert int(commands.run("parent").stdout) == resident  # and the command was not run a second time


def test_a_changed_file_of_the_project_ends_the_resident_process(commands):
    resident = commands.resident_process()
    packages = commands.folder / "lib" / "site-packages"
    packages.mkdir()
    commands.environment["PYTHONPATH"] += f"{os.pathsep}{packages}"  # what pip changes when it installs
    other = commands.resident_process()
    assert other != resident
    os.utime(packages, (0, 0))
    assert "refused" in commands.used_by("end", "0")
    until(lambda: not is_running(other))
    assert commands.resident_process() not in (resident, other)


def test_the_resident_process_ends_when_idle(commands):
    commands.environment["IDLE_S"] = "1"
    commands.run("end", "0")
    until(commands.sockets)
    until(lambda: not commands.sockets())


def test_what_commands_import_is_imported_once(commands):
    commands.resident_process()
    until(lambda: commands.run("parent").stdout and "True" in commands.run("json").stdout)


def test_limits_of_the_shell_choose_another_process(commands):
    resident = commands.resident_process()
    code = f"ulimit -n 99; exec {sys.executable} {commands.script} parent"
    done = subprocess.run(["sh", "-c", code], env=commands.environment, capture_output=True, text=True)
    assert int(done.stdout) == os.getpid() != resident


@pytest.mark.parametrize("name", ["CI", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PYTEST_CURRENT_TEST"])
def test_continuous_integration_batch_jobs_and_tests_have_none(commands, name):
    commands.run("end", "0", env={name: "1"})
    assert not commands.resident.exists()


def test_the_switch_turns_it_off(commands):
    commands.run("end", "0", env={identity.SWITCH: "0"})
    assert not commands.resident.exists()


@pytest.mark.parametrize(
    "words", [["run", "--machine", "m.toml"], ["workbench", "--port", "1"], ["platform", "emulate"]]
)
def test_machines_and_the_workbench_are_run_by_processes_of_their_own(words, monkeypatch):
    monkeypatch.setattr(sys, "orig_argv", ["python", "/bin/gridval", *words])
    monkeypatch.delitem(sys.modules, "pytest")
    assert not identity.may_answer(words, {})
    assert identity.may_answer(["run", "--scenario", "grid4x2"], {})


def test_a_folder_that_others_may_enter_is_not_used(commands):
    commands.resident.mkdir()
    commands.resident.chmod(0o755)
    assert "not private" in commands.used_by("end", "0")
    assert not commands.sockets()


def test_a_folder_of_another_user_is_not_used(commands, monkeypatch):
    commands.resident.mkdir(mode=0o700)
    user = os.getuid()
    assert identity.private_folder(commands.environment) == str(commands.resident)
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    assert identity.private_folder(commands.environment) is None


def test_a_disk_without_room_leaves_the_command_to_its_own_process(commands):
    commands.resident.touch()  # so that the folder cannot be made
    assert commands.run("end", "3").returncode == 3


def test_a_folder_that_was_removed_is_one_that_was_removed(commands, tmp_path):
    commands.resident_process()
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"cd {gone}; rmdir {gone}; exec {sys.executable} {commands.script} show"
    done = subprocess.run(["sh", "-c", code], env=commands.environment, capture_output=True, text=True, input="")
    assert done.returncode == 1 and "FileNotFoundError" in done.stderr


def test_gridval_prints_the_same_in_both(commands):
    script = Path(sys.executable).with_name("gridval")
    environment = {**commands.environment, "PYTHONPATH": ""}
    for words in (["store", "list", "--help"], ["run", "--clas"]):
        shown = []
        for switch in "01":
            done = subprocess.run(
                [script, *words], env={**environment, identity.SWITCH: switch}, capture_output=True, text=True
            )
            shown.append((done.returncode, done.stdout, done.stderr))
            if not commands.sockets():
                subprocess.run([script, "store", "--help"], env=environment, capture_output=True)
                until(commands.sockets)
        assert shown[0] == shown[1]


def test_an_interrupt_before_the_copy_has_the_command_ends_it(monkeypatch, capsys):
    def interrupt(words, environment):
        raise KeyboardInterrupt

    monkeypatch.setattr(client, "may_answer", interrupt)
    assert client.answered(["run"]) == 130
    assert capsys.readouterr().err == "interrupted\n"
