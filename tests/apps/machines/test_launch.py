"""Programs started on machines: placement, environment, limits, and that nothing is left behind."""

import os
import subprocess
from dataclasses import replace

import pytest

from apps.errors import KernelError
from apps.machines.launch import launch, telling_line
from apps.machines.machine_file import Launcher
from platforms.errors import UserError

SAYS_WHERE = ("/bin/sh", "-c", "echo $OMPI_COMM_WORLD_RANK $(hostname)")


def test_every_rank_gets_the_environment_and_collected_files_are_returned(local):
    script = 'echo "$GREETING" > "$PLACE/rank$OMPI_COMM_WORLD_RANK"; echo "$OMP_NUM_THREADS"'
    done = launch(
        local, ("/bin/sh", "-c", script), ["localhost"] * 2, environment={"GREETING": "hello you", "PLACE": "{folder}"},
        collect=["rank0", "rank1", "rank2"],
    )  # fmt: skip
    assert done.succeeded
    assert done.files == {"rank0": b"hello you\n", "rank1": b"hello you\n"}
    assert done.stdout == "1\n1\n"  # as local.toml sets it


@pytest.mark.parametrize(
    "hosts",
    [
        ("left1", "left2", "right1"),
        ("right1", "left1", "left1", "left2"),
        ("left1", "right1", "left1", "right1", "left2"),  # one host's ranks apart from each other
    ],
)
def test_each_rank_runs_on_the_host_that_was_asked_for(named, hosts):
    done = launch(named, SAYS_WHERE, hosts)
    assert sorted(done.stdout.splitlines()) == sorted(f"{rank} {host}" for rank, host in enumerate(hosts))


def test_a_run_ends_at_its_limit_and_leaves_no_process(local):
    done = launch(local, ("/bin/sleep", "86397"), ["localhost"] * 2, time_limit_s=0.5)
    assert done.timed_out and not done.succeeded
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "sleep 86397" not in found


def test_the_machines_own_limit_holds_too(local):
    short = replace(local, limits=replace(local.limits, wall_s=0.3))
    assert launch(short, ("/bin/sleep", "30"), ["localhost"], time_limit_s=200).timed_out  # before the program ends


def test_hosts_and_ranks_beyond_the_machine_are_refused(local):
    with pytest.raises(KernelError, match="no host 'elsewhere'"):
        launch(local, ("/bin/true",), ["elsewhere"])
    with pytest.raises(KernelError, match="3 ranks, but its limit is 2"):
        launch(local, ("/bin/true",), ["localhost"] * 3)


def test_a_missing_launcher_is_named(local):
    without = replace(local, launcher=Launcher(("no-such-launcher", "{program}")))
    with pytest.raises(UserError, match="command 'no-such-launcher' is not found"):
        launch(without, ("/bin/true",), ["localhost"])


def test_a_batch_script_has_the_program_quoted_and_its_output_is_read(local, tmp_path):
    # Stands for sbatch --wait: it runs the script with its output in a file.
    batch = tmp_path / "batch"
    batch.write_text('#!/bin/sh\nexec "$2" > "$1"\n')
    batch.chmod(0o755)
    launcher = Launcher((str(batch), "{output}", "{script}"), script="for i in 1 {ranks}; do {program}; done\n")
    done = launch(replace(local, launcher=launcher), ("/bin/echo", "a  b", "$HOME"), ["localhost"] * 2)
    assert done.stdout == "a  b $HOME\n" * 2


def test_the_files_of_a_run_are_named_as_other_hosts_see_them(local, tmp_path, monkeypatch):
    launcher = Launcher(("/bin/echo", "{hostfile}", "{program}"))
    shared = tmp_path / "jo@site"
    done = launch(replace(local, launcher=launcher, folder=shared), ("/bin/true",), ["localhost"])
    assert done.stdout.startswith(f"{shared}/")
    monkeypatch.setenv("TMPDIR", str(shared))
    done = launch(replace(local, launcher=launcher), ("/bin/true",), ["localhost"])
    assert done.stdout.startswith(f"{shared}/")


def test_a_job_that_fails_is_cancelled_by_its_name(local, tmp_path):
    note = tmp_path / "cancelled"
    cancel = ("/bin/sh", "-c", f'echo "$0" >> {note}', "{job}")
    launcher = Launcher(("/bin/sh", "-c", "echo {job}; exit 3", "{program}"), cancel=cancel)
    done = launch(replace(local, launcher=launcher), ("/bin/true",), ["localhost"])
    assert done.status == 3
    assert note.read_text() == done.stdout and done.stdout.startswith("gridval-")


def test_the_launcher_may_run_as_root_only_where_it_does(local):
    launcher = Launcher(("/usr/bin/env", "-u", "NOTHING", "/bin/sh", "-c", "echo $OMPI_ALLOW_RUN_AS_ROOT", "{program}"))
    done = launch(replace(local, launcher=launcher), ("/bin/true",), ["localhost"])
    assert done.stdout.strip() == ("1" if os.geteuid() == 0 else "")


@pytest.mark.parametrize(("fails", "tries", "status"), [(2, 3, 0), (9, 3, 75), (0, 1, 0)])
def test_a_disturbed_run_is_made_again_twice(local, tmp_path, fails, tries, status):
    note = tmp_path / "tries"
    script = f'echo x >> {note}; echo $(wc -l < {note}) > "$0"; [ $(wc -l < {note}) -gt {fails} ] || exit 75'
    launcher = Launcher(("/bin/sh", "-c", script, "{output}", "{program}"), retry_status=75)
    done = launch(replace(local, launcher=launcher), ("/bin/true",), ["localhost"])
    assert (done.status, done.stdout) == (status, f"{tries}\n")  # what the last run has printed
    assert note.read_text() == "x\n" * tries


def test_a_run_that_fails_otherwise_is_not_repeated(local, tmp_path):
    note = tmp_path / "tries"
    launcher = Launcher(("/bin/sh", "-c", f"echo x >> {note}; exit 3", "{program}"), retry_status=75)
    assert launch(replace(local, launcher=launcher), ("/bin/true",), ["localhost"]).status == 3
    assert note.read_text() == "x\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("-----\n* a line\n", "a line"),
        # Open MPI 4.1: the agent's words, and then its own.
        (
            "ssh: Could not resolve hostname x: Name or service not known\n-----\nORTE was unable to reliably start"
            " one or more daemons.\nThis usually is caused by:\n\n* not finding the required libraries on\n",
            "ssh: Could not resolve hostname x: Name or service not known",
        ),
        (
            "[vm:1] [[2,0],0] ORTE_ERROR_LOG: Data unpack had inadequate space in file help.c\n------\n"
            "A requested component was not found, or was unable to be opened.  This\nmeans that this component is\n",
            "A requested component was not found, or was unable to be opened",
        ),
        ("Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per user-direction\n",
         "Primary job terminated normally, but 1 process returned a non-zero exit code"),
        # Slurm 22.05
        ("srun: job 5 queued\nsrun: error: Unable to create step for job 5: Node is down\n",
         "srun: error: Unable to create step for job 5: Node is down"),
    ],
)  # fmt: skip
def test_the_words_that_say_what_is_wrong_are_found(text, expected):
    assert telling_line(text) == expected
