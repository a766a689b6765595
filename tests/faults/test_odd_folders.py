"""Folders of temporary files, homes and locales in which runs must work: odd characters, relative paths, de_DE."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = r"""
#include <stdio.h>
#include <mpi.h>
static int mine; /* SMPI keeps a copy for each rank */
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &mine);
  FILE *file = fopen("work.txt", "r");
  double work = 0;
  if (file) {
    if (fscanf(file, "%lf", &work) != 1)
      return 3;
    fclose(file);
  }
  double start = MPI_Wtime();
  MPI_Allreduce(MPI_IN_PLACE, &work, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (MPI_Wtime() <= start)
    return 4;
  MPI_Finalize();
  return 0;
}
"""
ODD = ["a#b", "~", "a!b", "Uml\u00e4ut", "a,b", "a b"]
ODDER = [
    *("a~b", "a'b", 'a"b', "a$HOME", "a;b", "a&b", "a(b)", "a*", "[a]", "a\\b", "a:b", "a=b", "a%b", "{a}", "-a", "@a")
]


def run(words, where, **environment):
    """Run ``python -m`` in a folder; return status and errors."""
    settings = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=where, env=settings, capture_output=True, text=True, timeout=200
    )
    return done.returncode, done.stderr


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.c").write_text(PROGRAM)
    (tmp_path / "work.txt").write_text("1.5\n")
    options = "--program program.c --compute none --scenario grid4x2 --ranks 4"
    return ["gridval", "program", "run", *options.split()]


# What a run of the program says: its computation is left out.
NO_TIME = "caution: computation takes no time (--compute none): all times are those of communication alone\n"
KERNEL = ["gridval", "program", "run", "--app", "ep", "--class", "S", "--scenario", "grid4x2", "--ranks", "4"]


@pytest.mark.parametrize("name", [*ODD, *(pytest.param(name, marks=pytest.mark.slow) for name in ODDER)])
def test_temporary_files_may_be_in_a_folder_of_any_name(tmp_path, program, name):
    place = tmp_path / name
    place.mkdir()
    assert run(program, tmp_path, TMPDIR=str(place)) == (0, NO_TIME)
    assert run(KERNEL, tmp_path, TMPDIR=str(place)) == (0, "")
    assert list(place.iterdir()) == []


def test_the_inputs_of_a_program_are_the_same_in_a_folder_of_any_name(tmp_path, program):
    found = []
    for name in ("plain", "o d#d"):
        (tmp_path / name).mkdir()
        settings = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path / name)}
        done = subprocess.run(
            [sys.executable, "-m", *program, "--json"], cwd=tmp_path, env=settings, capture_output=True, text=True
        )
        found.append(json.loads(done.stdout)["inputs"])
    assert found[0] == found[1] and "work.txt" in found[0]["files"]


def test_the_folder_of_temporary_files_and_home_may_be_relative(tmp_path, program):
    (tmp_path / "home" / ".cache").mkdir(parents=True)
    assert run(program, tmp_path, TMPDIR=".") == (0, NO_TIME)
    assert run(KERNEL, tmp_path, TMPDIR="home/..") == (0, "")
    assert run(KERNEL, tmp_path, HOME="home") == (0, "")
    assert run(["gridval", "store", "list"], tmp_path, HOME="home", GRID_VALIDATOR_CACHE="~/of-home")[0] == 0
    assert (tmp_path / "home" / "of-home").is_dir()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a#b c,d", "Uml\u00e4ut~!"])
def test_a_checkout_in_a_folder_of_any_name_runs(tmp_path, program, name):
    place = tmp_path / name
    for package in ("apps", "platforms", "predictor", "validation"):
        shutil.copytree(ROOT / package, place / package, ignore=shutil.ignore_patterns("__pycache__"))
    for words, said in ((program, NO_TIME), (KERNEL, "")):
        assert run(words, tmp_path, PYTHONPATH=str(place), GRID_VALIDATOR_CACHE=str(place / "cache")) == (0, said)


@pytest.fixture(scope="module")
def german(tmp_path_factory):
    """A folder with the locale de_DE.UTF-8; skips the test where it cannot be made."""
    if shutil.which("localedef") is None:
        pytest.skip("there is no localedef")
    made = tmp_path_factory.mktemp("locales")
    command = ["localedef", "-i", "de_DE", "-f", "UTF-8", str(made / "de_DE.UTF-8")]
    done = subprocess.run(command, capture_output=True, text=True)
    if not (made / "de_DE.UTF-8").is_dir():
        pytest.skip(f"no German locale can be made: {done.stderr.strip()[:200]}")
    return {"LOCPATH": str(made), "LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"}


SETS_LOCALE = PROGRAM.replace("#include <mpi.h>", "#include <locale.h>\n#include <mpi.h>")


@pytest.mark.parametrize("place", ["before", "after"])
def test_a_program_may_set_the_locale_of_its_user(tmp_path, program, german, place):
    # In German a number has a comma: 0,5.
    call = 'setlocale(LC_ALL, "");'
    begin = "MPI_Init(&argc, &argv);"
    changed = SETS_LOCALE.replace(begin, f"{call} {begin}" if place == "before" else f"{begin} {call}")
    (tmp_path / "program.c").write_text(changed)
    (tmp_path / "work.txt").write_text("1\n")
    assert run(program, tmp_path, **german) == (0, NO_TIME)
    assert run(KERNEL, tmp_path, **german) == (0, "")


@pytest.mark.parametrize("kind", ["missing", "file", "/proc", "read-only"])
def test_a_folder_of_temporary_files_that_cannot_be_used_is_one_line(tmp_path, kind):
    place = tmp_path / "t"
    if kind == "file":
        place.touch()
    status, said = run(
        KERNEL, tmp_path, TMPDIR="/sys/kernel" if kind == "read-only" else "/proc" if kind == "/proc" else str(place)
    )
    assert status == 2 and said.startswith("error: folder ") and said.count("\n") == 1
    assert "Make room there, or set TMPDIR to another folder" in said
