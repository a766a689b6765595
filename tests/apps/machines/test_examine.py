"""The doctor's findings about machines."""

import json
import shutil
from dataclasses import replace

import pytest

from apps.machines.launch import Launched
from apps.machines.machine_file import Launcher, read_machine
from apps.measuring import examine as examining
from apps.measuring.examine import examine, faults
from validation.doctor import main


def needed(machine):
    """Return the faults that make runs impossible, as (name, text, remedy)."""
    return [(one.name, one.text, one.remedy) for one in examine(machine) if one.needed and not one.good]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A folder that all hosts see; the layer is compiled there once."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture
def host_with(named_file, tmp_path, shared):
    """Return the machine of hosts left1, left2 and right1, on the first of which a command is carried out at first."""

    def machine(command, host="left2"):
        agent = tmp_path / "agent.sh"
        agent.write_text(
            f"#!/bin/sh\nhost=$1; shift\nif [ \"$host\" = {host} ]; then prepare='{command}'; fi\n"
            'exec unshare -um sh -c \'hostname "$0"; eval "$2"; exec sh -c "$1"\' "$host" "$*" "$prepare"\n'
        )
        text = named_file.read_text().replace("[launcher]", f'folder = "{shared}"\n[launcher]', 1)
        named_file.write_text(text)
        return read_machine(named_file)

    return machine


def test_a_machine_that_works_has_no_fault(local, capsys):
    assert main(["--machine", str(local.path)]) == 0
    said = capsys.readouterr().out
    assert "ok       placement: every rank is on the requested host" in said
    assert said.endswith("Everything that is needed is there.\n")


def test_hosts_are_reached_in_any_order(named):
    assert faults(named) == []
    (hosts,) = [part for part in examine(named) if part.name == "hosts"]
    assert hosts.text.startswith("3 hosts reached with 4 ranks")


def test_each_fault_is_one_line(local):
    def said(**changed):
        return faults(replace(local, **changed))

    missing = Launcher(("no-launcher", "{program}"))
    assert said(launcher=missing) == ["launcher: command 'no-launcher' is not found"]
    compilers = replace(local.compilers, c="no-cc")
    assert said(compilers=compilers) == ["compiler for C: no-cc is not found"]
    careless = Launcher(("mpirun", "-np", "{ranks}", "{program}"))
    elsewhere = (replace(local.clusters[0], hosts=("elsewhere",)),)
    (placement,) = said(launcher=careless, clusters=elsewhere)
    assert placement.startswith("placement: rank 0 is on ") and "not on elsewhere, and 1 more elsewhere" in placement
    without = Launcher(("env", "mpirun", "-np", "{ranks}", "--hostfile", "{hostfile}", "/bin/false", "{program}"))
    (host,) = said(launcher=without)
    assert host.startswith("host localhost: cannot be reached: the launcher ended with status 1")


def test_a_missing_compiler_for_another_language_is_no_fault(local):
    assert faults(replace(local, compilers=replace(local.compilers, fortran="no-fortran"))) == []


def test_a_layer_that_does_not_reach_the_ranks_is_told(local):
    # The program comes as env NAME=VALUE... PROGRAM: this drops the word env and its settings.
    drop = ("/bin/sh", "-c", 'while case $2 in *=*) true;; *) false;; esac; do shift; done; shift; exec "$@"', "sh")
    launcher = replace(local.launcher, command=(*local.launcher.command[:-1], *drop, "{program}"))
    (fault,) = faults(replace(local, launcher=launcher))
    assert fault.startswith("measuring: it does not load")


def test_a_launcher_of_another_mpi_library_than_the_compiler_is_told(local):
    if shutil.which("mpicc.mpich") is None:
        pytest.skip("there is no MPICH here: sh setup.sh machine")
    mixed = replace(local, compilers=replace(local.compilers, c="mpicc.mpich"))
    ((name, text, remedy),) = needed(mixed)
    assert name == "MPI library"
    assert text.startswith("2 ranks requested, but each finds 1: mpicc.mpich compiles for MPICH")
    assert remedy == "Name the launcher and the compilers of one MPI library"


def test_ranks_that_do_not_find_each_other_may_mix_their_lines(local, monkeypatch):
    alone = '{"ranks": [{"host": "localhost", "ahead_s": 0.0, "mpi": "MPICH Version: 4.0.2"}]}\n'
    mixed = alone[:20] + alone + alone[20:]

    def made(machine, program, hosts, **options):
        stdout = mixed if len(hosts) == 2 else alone
        return Launched(0, stdout, "", 0.1, timed_out=False, command=(), files={})

    monkeypatch.setattr("apps.measuring.examine.launch", made)
    ((name, text, _),) = needed(local)
    assert name == "MPI library"
    assert "each finds 1: mpicc compiles for MPICH Version: 4.0.2" in text


def test_a_compiler_without_mpi_is_told(local):
    plain = replace(local, compilers=replace(local.compilers, c="gcc"))
    remedy = "Name the MPI library's compiler, such as mpicc"
    assert needed(plain) == [("compiler for C", "gcc does not find mpi.h", remedy)]


@pytest.mark.parametrize(
    ("command", "text", "remedy"),
    [
        (
            "echo ssh: Could not resolve hostname left2: Name or service not known >&2; exit 255",
            "ssh: Could not resolve hostname left2: Name or service not known",
            "Correct the host's name in the file",
        ),
        (
            "mount -t tmpfs none SHARED",  # it does not see the others' folder
            "No such file or directory",
            "Let folder in the machine's file name a folder that every host sees",
        ),
    ],
)
def test_a_host_that_cannot_run_programs_is_told(host_with, shared, command, text, remedy):
    ((name, said, advice),) = needed(host_with(command.replace("SHARED", str(shared))))
    assert name == "host left2"
    assert said.startswith("cannot be reached: the launcher ended with status") and said.endswith(text)
    assert advice == remedy


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (
            "ssh: connect to host h port 22: No route to host",
            "See that the host is up and `ssh HOST true` works from here",
        ),
        ("root@h: Permission denied (publickey).", "Let ssh to the host work without a password: ssh-copy-id HOST"),
        ("Host key verification failed.", "Let ssh to the host work without a password: ssh-copy-id HOST"),
        ("bash: line 1: orted: command not found", "Install ssh here, and the same MPI library on every host"),
        (
            "layer: cannot write /tmp/x/layer.json",
            "Let folder in the machine's file name a folder that every host sees",
        ),
        ("srun: error: Invalid node name specified", "Correct the host's name in the file"),
        ("anything else", "Correct hosts, or the launcher"),
    ],
)
def test_a_remedy_fits_the_words_of_the_launcher(local, monkeypatch, words, remedy):
    monkeypatch.setattr(examining, "_probe", lambda *_: Launched(255, "", f"{words}\n", 0.1, False, (), {}))
    ((name, text, advice),) = needed(local)
    assert (name, advice) == ("host localhost", remedy)
    assert text == f"cannot be reached: the launcher ended with status 255: {words.rstrip('.')}"


def test_a_launcher_that_hangs_is_given_up_after_a_few_hosts(local):
    hosts = (replace(local.clusters[0], hosts=tuple(f"host{number}" for number in range(10))),)
    limits = replace(local.limits, command_s=0.3, ranks=20)
    hanging = Launcher(("/bin/sh", "-c", "exec sleep 86395", "{program}"), version=("true",))
    *each, (name, text, remedy) = needed(replace(local, clusters=hosts, limits=limits, launcher=hanging))
    assert [one[0] for one in each] == ["host host9", "host host8", "host host7"]
    assert (name, text) == ("launcher", "it did not end on any of the first 3 hosts; the others were not tried")
    assert remedy.startswith("Try its command by hand")


def told_by_ranks(machine, monkeypatch, **differs):
    """Let the probe say this of every rank but the first, and return the parts by name."""
    hosts = ("left1", "right1")
    rank = {"ahead_s": 0.0, "mpi": "Open MPI v4.1.4, package: Debian"}
    ranks = [{**rank, "host": hosts[0]}, {**rank, "host": hosts[1], **differs}]
    done = Launched(0, json.dumps({"ranks": ranks}), "", 0.1, False, (), {})
    monkeypatch.setattr(examining, "_order", lambda machine: hosts)
    monkeypatch.setattr(examining, "_probe", lambda *_: done)
    return {one.name: one for one in examine(machine)}


def test_a_clock_that_is_off_is_told_but_no_obstacle(named, monkeypatch):
    clocks = told_by_ranks(named, monkeypatch, ahead_s=-3.5)["clocks"]
    assert (clocks.good, clocks.needed) == (False, False)
    assert clocks.text == "that of right1 is -3.5 s from that of left1"
    assert clocks.remedy == "Synchronise them; run times do not depend on it"


def test_hosts_with_different_mpi_libraries_are_told(named, monkeypatch):
    library = told_by_ranks(named, monkeypatch, mpi="Open MPI v4.1.6, package: x")["MPI library"]
    assert library.needed and library.text == "left1 has Open MPI v4.1.4, but right1 has Open MPI v4.1.6"
