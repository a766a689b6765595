"""The doctor's findings about machines."""

from dataclasses import replace

from apps.machines.machine_file import Launcher
from apps.measuring.examine import examine, faults
from validation.doctor.cli import main


def test_a_machine_that_works_has_no_fault(local, capsys):
    assert main(["--machine", str(local.path)]) == 0
    said = capsys.readouterr().out
    assert "ok       placement: every rank is on the host that was asked for" in said
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
