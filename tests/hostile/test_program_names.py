"""Users' names and arguments are never interpreted by a shell, although smpirun and smpicc are shell scripts."""

import ast
import os

import pytest
from readers.common import ROOT

from apps.run import main

PROGRAM = """#include <mpi.h>
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""
TOUCH = "$(touch evil)"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder with an unusual name, in which commands run."""
    folder = tmp_path / f"a b {TOUCH} 'q\" ;touch evil; `touch evil`"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_a_program_and_a_platform_of_any_name_run(here, capsys):
    name = f"p{TOUCH} 'x\";touch evil;"
    (here / f"{name}.c").write_text(PROGRAM)
    (here / f"{name}.xml").write_text((ROOT / "tests/platforms/data/two_hosts.xml").read_text())
    assert main(["--platform", f"{name}.xml", "--ranks", "2", "--program", f"{name}.c"]) == 0
    assert "simulated" in capsys.readouterr().out
    assert sorted(os.listdir(here)) == sorted([f"{name}.c", f"{name}.xml"])


@pytest.mark.parametrize("name", ["x[y]", "x?", "x*", "two\nlines", "back\bspace"])
def test_a_name_that_smpicc_would_take_for_others_is_refused(here, refused, name):
    (here / "xy.c").write_text("another program")
    (here / f"{name}.c").write_text(PROGRAM + f"/* {name!r} */")
    refused(main, ["--scenario", "grid4x2", "--ranks", "2", "--program", f"{name}.c"], "cannot be given such a name")


@pytest.mark.parametrize(
    "argument", [";touch evil", TOUCH, "`touch evil`", "a|b", "a&b", "a>evil", "*", "'a b'", '"a;b"']
)
def test_arguments_that_smpirun_would_take_apart_are_refused(here, refused, argument):
    (here / "program.c").write_text(PROGRAM)
    words = ["--scenario", "grid4x2", "--ranks", "2", "--program", "program.c", f"--program-args={argument}"]
    refused(main, words, "--program-args")
    assert os.listdir(here) == ["program.c"]


@pytest.mark.parametrize(
    "option", ["smpi/os:0:1 --log=root.app:file:evil", f"smpi/os:{TOUCH}", "smpi/os:`touch evil`", "a:*"]
)
def test_options_that_smpirun_would_take_apart_are_refused(here, refused, option):
    refused(main, ["--scenario", "grid4x2", "--app", "cg", "--class", "S", f"--cfg={option}"], "--cfg")
    assert os.listdir(here) == []


def test_a_folder_for_scratch_that_smpirun_cannot_name_is_used_and_takes_nothing_apart(here, monkeypatch):
    import tempfile

    monkeypatch.setenv("TMPDIR", str(here))
    monkeypatch.setattr(tempfile, "tempdir", None)
    assert main(["--scenario", "grid4x2", "--app", "cg", "--class", "S", "--ranks", "2"]) == 0
    assert not (here / "evil").exists()


SHELLS = ("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "eval", "exec")


def test_no_module_gives_a_text_to_a_shell():
    for package in ("platforms", "apps", "predictor", "validation"):
        for file in (ROOT / package).rglob("*.py"):
            text = file.read_text("utf-8")
            if not any(word in text for word in ("shell=", *(f"{name}(" for name in SHELLS))):
                continue
            for call in (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)):
                assert ast.unparse(call.func) not in SHELLS, f"{file}:{call.lineno}"
                if ast.unparse(call.func) != "shellcode":  # argcomplete's: the name of a shell
                    assert "shell" not in [word.arg for word in call.keywords], f"{file}:{call.lineno}"


def test_what_a_shell_is_given_is_the_same_for_all():
    for package in ("platforms", "apps", "predictor", "validation"):
        for file in (ROOT / package).rglob("*.py"):
            text = file.read_text("utf-8")
            for words in (
                (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.List)) if '"-c"' in text else ()
            ):
                spelled = [word.value if isinstance(word, ast.Constant) else None for word in words.elts]
                assert spelled[:2] != ["sh", "-c"] or spelled[2] is not None, f"{file}:{words.lineno}"
