"""The command gridval platform emulate, where nothing is emulated."""

import xml.etree.ElementTree as ET

import pytest

from apps.emulate import running
from apps.emulate.cli import main
from apps.emulate.running import environment
from apps.emulate.settings import Settings
from apps.machines.machine_file import read_machine
from platforms.grids.scenario import read_grid

FREE_GRID = "examples/emulation/free.toml"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("grid4x2", "error: command: is missing. Write it behind --, for example: -- mpirun -np 4 ./program."),
        ("grid4x8 -- true", "error: grid 'grid4x8': 32 nodes. Give at most 16."),
        ("grid4x2 --slowdown 0 -- true", "error: --slowdown 0: not a factor. Give a number from 1 on."),
        ("grid4x2 --cpu 4711 -- true", "error: --cpu 4711: no processor that may be used. Known: "),
        (
            "grid4x2 --strict --write-machine m.toml",
            "error: --strict: applies to a run, but no command is given. Write ",
        ),
        ("grid4x2 --pace free -- true", "error: --core-gflops: is missing. The free pace needs "),
        ("grid4x2 --eager-limit 10 -- true", "error: --eager-limit 10: is out of range. Give 1024 to 1073741824 bytes"),
        ("nowhere.toml -- true", "error: nowhere.toml: "),
        ("grid4x2 --write-machine no/folder/m.toml", "error: --write-machine"),
    ],
)
def test_bad_input_is_told_in_one_line(capsys, words, line):
    assert main(words.split()) == 2
    shown = capsys.readouterr().err
    assert shown.startswith(line) and shown.count("\n") == 1


def test_a_machine_that_cannot_emulate_says_what_is_missing(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(running, "missing_rights", lambda status: ["CAP_SYS_ADMIN"])
    assert main([FREE_GRID, "--", "true"]) == 2
    assert capsys.readouterr().err == ("error: emulated grid: the right CAP_SYS_ADMIN is missing. Start it as root.\n")
    monkeypatch.setattr(running, "missing_rights", lambda status: [])
    monkeypatch.setattr(running, "_TUN", tmp_path / "tun")
    assert main([FREE_GRID, "--", "true"]) == 2
    assert capsys.readouterr().err.startswith(f"error: emulated grid: there is no {tmp_path}/tun. Run: modprobe tun")


def test_a_missing_command_is_told(capsys, monkeypatch):
    monkeypatch.setattr("apps.emulate.running.check_machine", lambda: None)
    assert main([FREE_GRID, "--", "no-such-mpirun"]) == 2
    assert capsys.readouterr().err.startswith("error: command no-such-mpirun: not found. Install it")


def test_the_platform_has_the_hosts_and_links_of_the_slowed_grid(tmp_path):
    assert main([FREE_GRID, "--slowdown", "10", "--write-platform", str(tmp_path / "grid.xml")]) == 0
    cluster = ET.parse(tmp_path / "grid.xml").find(".//cluster[@id='c1']")
    assert (cluster.get("prefix"), cluster.get("speed"), cluster.get("lat")) == ("c1-", "0.2Gf", "2500us")


def test_the_machine_keeps_the_limit_of_eager_messages_and_repeats_disturbed_runs(tmp_path):
    path = tmp_path / "m.toml"
    assert main([FREE_GRID, "--eager-limit", "262144", "--write-machine", str(path)]) == 0
    launcher = read_machine(path).launcher
    assert launcher.command[launcher.command.index("--eager-limit") + 1] == "262144"
    assert launcher.retry_status == 75  # EX_TEMPFAIL


@pytest.mark.parametrize(("eager_bytes", "limit"), [(262144, "262144"), (None, None)])
def test_open_mpi_is_told_of_connections_and_the_limit_of_eager_messages(eager_bytes, limit):
    shown = environment(read_grid(FREE_GRID), Settings(eager_bytes=eager_bytes), 0)
    assert shown["OMPI_MCA_mpi_preconnect_mpi"] == "1"
    assert [shown.get(f"OMPI_MCA_btl_tcp_{what}") for what in ("eager_limit", "rndv_eager_limit")] == [limit, limit]
