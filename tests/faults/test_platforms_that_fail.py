"""If profiles end a run, both engines blame the platform; if the program has a fault, they do not."""

from pathlib import Path

import pytest

from apps.run import main

FAILING = Path(__file__).parents[1] / "platforms" / "data" / "failing.xml"  # f2 is switched off after a second
PROGRAM = """
def main(rank):
    for _ in range(5):
        rank.compute(1e8)
        if rank.rank == 0:
            rank.recv(1)
        else:
            rank.send(0, 10**6)
"""


@pytest.fixture
def on_failing(tmp_path):
    (tmp_path / "hosts").write_text("f1\nf2\n")
    return ["--platform", str(FAILING), "--hostfile", str(tmp_path / "hosts")]


@pytest.mark.parametrize("engine", ["smpi", "s4u"])
def test_a_deadlock_by_a_host_that_is_switched_off_is_the_platforms_fault(on_failing, refused, engine):
    said = "host 'f2' is switched off or on from 1 s. Leave it out"
    refused(main, [*on_failing, "--app", "cg", "--class", "S", "--engine", engine], said)


def test_so_it_is_for_a_program_in_python(on_failing, refused, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    said = ("deadlock: rank 0 waits for the message from rank 1 with tag 0", "host 'f2' is switched off")
    refused(main, [*on_failing, "--program", str(tmp_path / "program.py")], *said)


def test_an_exception_of_the_program_is_not(on_failing, capsys, tmp_path):
    (tmp_path / "program.py").write_text("def main(rank):\n    rank.compute(1e9)\n    raise RuntimeError('mine')\n")
    assert main([*on_failing, "--program", str(tmp_path / "program.py")]) == 1
    assert "program.py:3: RuntimeError: mine" in capsys.readouterr().err
