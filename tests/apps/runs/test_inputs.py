"""A kept result of a user's program is used again only while all that the program has read is the same."""

import hashlib
import json
import os
import py_compile
import struct
import subprocess
from pathlib import Path

import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.run import main
from apps.runs.neutral import recording_identity
from apps.runs.record_events import record_events
from apps.runs.runner import Runner
from apps.runs.simulate import simulate
from apps.spec.settings import Settings
from apps.spec.target import Target
from apps.store import Store
from platforms.errors import UserError
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise
from predictor.predict import main as predict
from tests.verbs import store as store_command
from validation.run import main as validate

SPEED_FLOPS = 40e9  # of c1-0 of grid4x2

C = """
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <fts.h>
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  double flops = 4e9;
  {
    %s
  }
  smpi_execute_flops_benched(flops);
  MPI_Finalize();
  return 0;
}
"""
FROM_STREAM = 'FILE *f = fopen("input.dat", "r"); if (f && fscanf(f, "%lf", &flops) != 1) abort(); if (f) fclose(f);'
FROM_FILE = """char text[99] = ""; int f = open("input.dat", O_RDONLY);
  if (f >= 0) { read(f, text, 98); flops = atof(text); close(f); }"""
FROM_FOLDER = """int d = open("data", O_RDONLY | O_DIRECTORY); char text[99] = "";
  int f = openat(d, "input.dat", O_RDONLY); read(f, text, 98); flops = atof(text);"""
FROM_STAT = 'struct stat s; if (!stat("input.dat", &s)) flops = 1e9 * s.st_size;'
FROM_ACCESS = 'if (!access("input.dat", R_OK)) flops = 8e9;'
FROM_LIST = 'DIR *d = opendir("data"); while (readdir(d)) flops += 4e9; closedir(d); flops -= 12e9;'
FROM_ENVIRONMENT = 'char *t = getenv("FLOPS"); if (t) flops = atof(t);'

CXX = """
#include <fstream>
#include <mpi.h>
#include <smpi/smpi.h>
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  double flops = 4e9;
  std::ifstream file("input.dat");
  file >> flops;
  smpi_execute_flops_benched(flops);
  MPI_Finalize();
}
"""

PYTHON = """
import os
from pathlib import Path
def main(rank):
    flops = 4e9
    {}
    rank.compute(flops)
"""


def spec_of(path):
    platform = materialise(named_grid("grid4x2"))
    return Settings().spec(Target(own_problem(read_program(path)), platform, block(platform, 1)))


class Kept:
    """Runs through a store; each as by a command of its own."""

    def __init__(self, folder):
        self.folder, self.said, self.made = folder, [], 0

    def time_s(self, path):
        with Store(self.folder, report=self.said.append) as store:
            known = store.entries()
            with Runner(jobs=1, store=store) as runner:
                time_s = runner.record(spec_of(path)).time_s
            self.made += store.entries() != known
        return time_s


@pytest.fixture
def kept(tmp_path):
    return Kept(tmp_path / "store")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The current folder."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def c_program(folder, body):
    path = folder / "program.c"
    path.write_text(C.replace("%s", body, 1))
    return path


@pytest.mark.parametrize(
    ("body", "file", "first", "second", "times"),
    [
        (FROM_STREAM, "input.dat", "4e9", "8e9", (4, 8)),
        (FROM_STREAM, "input.dat", None, "8e9", (4, 8)),
        pytest.param(FROM_STREAM, "input.dat", "8e9", None, (8, 4), marks=pytest.mark.slow),
        (FROM_FILE, "input.dat", "4e9", "8e9", (4, 8)),
        (FROM_FOLDER, "data/input.dat", "4e9", "8e9", (4, 8)),
        (FROM_STAT, "input.dat", "1234", "12345678", (4, 8)),
        pytest.param(FROM_ACCESS, "input.dat", None, "", (4, 8), marks=pytest.mark.slow),
        (FROM_LIST, "data/second", None, "", (4, 8)),
    ],
)
def test_a_changed_file_that_a_program_reads_counts(kept, here, tmp_path, body, file, first, second, times):
    path = c_program(tmp_path, body)
    (here / "data").mkdir()
    (here / "data" / "first").touch()
    for content, gflop in ((first, times[0]), (first, times[0]), (second, times[1]), (second, times[1])):
        if content is None:
            (here / file).unlink(missing_ok=True)
        else:
            (here / file).write_text(content)
        assert kept.time_s(path) == pytest.approx(gflop * 1e9 / SPEED_FLOPS, rel=1e-6)
    assert kept.made == 2 and not kept.said  # the second and the fourth come from the store


def test_a_changed_file_that_a_program_in_cxx_reads_counts(kept, here, tmp_path):
    path = tmp_path / "program.cpp"
    path.write_text(CXX)
    for content in ("4e9", "4e9", "8e9"):
        (here / "input.dat").write_text(content)
        assert kept.time_s(path) == pytest.approx(float(content) / SPEED_FLOPS, rel=1e-6)
    assert kept.made == 2


def test_another_current_folder_counts(kept, tmp_path, monkeypatch):
    path = c_program(tmp_path, FROM_STREAM)
    for name, content in (("one", "4e9"), ("two", "8e9"), ("one", "4e9")):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "input.dat").write_text(content)
        monkeypatch.chdir(tmp_path / name)
        assert kept.time_s(path) == pytest.approx(float(content) / SPEED_FLOPS, rel=1e-6)


def test_a_changed_environment_variable_counts(kept, here, tmp_path, monkeypatch):
    path = c_program(tmp_path, FROM_ENVIRONMENT)
    monkeypatch.setenv("NOT_ASKED_FOR", "1")
    assert kept.time_s(path) == pytest.approx(4e9 / SPEED_FLOPS, rel=1e-6)
    monkeypatch.setenv("NOT_ASKED_FOR", "2")
    assert kept.time_s(path) == pytest.approx(4e9 / SPEED_FLOPS, rel=1e-6) and kept.made == 1
    monkeypatch.setenv("FLOPS", "8e9")
    assert kept.time_s(path) == pytest.approx(8e9 / SPEED_FLOPS, rel=1e-6) and kept.made == 2


def test_a_changed_library_that_a_program_loads_itself_counts(kept, here, tmp_path):
    library = tmp_path / "plugin.so"
    body = f'double (*work)(void) = (double (*)(void))dlsym(dlopen("{library}", RTLD_NOW), "work"); flops = work();'
    path = c_program(tmp_path, body)
    for flops in ("4e9", "8e9"):
        (tmp_path / "plugin.c").write_text(f"double work(void) {{ return {flops}; }}\n")
        subprocess.run(["gcc", "-shared", "-fPIC", "plugin.c", "-o", library], cwd=tmp_path, check=True)
        assert kept.time_s(path) == pytest.approx(float(flops) / SPEED_FLOPS, rel=1e-6)


def test_files_that_a_program_writes_itself_are_no_inputs(kept, here, tmp_path):
    made = 'FILE *f = fopen("made.txt", "w"); fputs("8e9", f); fclose(f);'
    path = c_program(tmp_path, f'{made} f = fopen("made.txt", "r"); fscanf(f, "%lf", &flops);')
    for _ in range(2):
        assert kept.time_s(path) == pytest.approx(8e9 / SPEED_FLOPS, rel=1e-6)
    assert kept.made == 1 and not (here / "made.txt").exists()


def test_folders_that_a_program_makes_or_writes_into_are_no_inputs(kept, here, tmp_path):
    body = """struct stat s;
    mkdir("made", 0777); stat("made", &s); fclose(fopen("made/a.txt", "w")); closedir(opendir("made"));
    stat("data", &s); fclose(fopen("data/b.txt", "w"));"""
    path = c_program(tmp_path, body)
    (here / "data").mkdir()
    for _ in range(2):
        assert kept.time_s(path) == pytest.approx(4e9 / SPEED_FLOPS, rel=1e-6)
    assert kept.made == 1 and not kept.said and not (here / "made").exists()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            'closedir(opendir("data")); fclose(fopen("data/new", "w"));',
            "data, which changed meanwhile",
        ),
        ('FTS *t = fts_open((char *[]){"data", NULL}, FTS_LOGICAL, NULL); fts_close(t);', "searches folders"),
        ('system("true");', "starts other programs"),
        ('syscall(SYS_openat, AT_FDCWD, "input.dat", O_RDONLY);', "raw system calls"),
        ("extern char **environ; flops += environ[0] == 0;", "the environment as a whole"),
        ('FILE *f = fopen("input.dat", "r+"); fputs("9", f); fclose(f);', "input.dat, which changed meanwhile"),
    ],
)
def test_a_result_whose_inputs_cannot_be_known_is_not_kept_and_says_so(kept, here, tmp_path, body, reason):
    (here / "input.dat").write_text("8")
    (here / "data").mkdir()
    path = c_program(tmp_path, body)
    assert kept.time_s(path) == pytest.approx(4e9 / SPEED_FLOPS, rel=1e-6)
    assert kept.made == 0
    (said,) = kept.said
    assert reason in said and "not kept" in said


@pytest.mark.parametrize(
    "body",
    [
        "flops = float(open('input.dat').read())",
        "flops = float(Path('input.dat').read_text())",
        "flops = 8e9 if os.path.exists('second') else 4e9",
        "flops = 8e9 if 'second' in os.listdir() else 4e9",
        "flops = float(os.environ.get('FLOPS', '4e9'))",
        "from pkg.work import WORK as flops",
        "import importlib; flops = importlib.import_module('hid' + 'den').WORK",
    ],
)
def test_what_a_program_in_python_reads_counts(kept, here, tmp_path, monkeypatch, body):
    path = tmp_path / "program.py"
    path.write_text(PYTHON.format(body))
    (tmp_path / "pkg").mkdir()
    for turn, content in enumerate(("4e9", "4e9", "8e9")):
        for file in (here / "input.dat", tmp_path / "pkg" / "work.py", tmp_path / "hidden.py"):
            file.write_text(content if file.suffix == ".dat" else f"WORK = {content}\n")
        if turn == 2:
            monkeypatch.setenv("FLOPS", content)
            (here / "second").touch()
        assert kept.time_s(path) == pytest.approx(float(content) / SPEED_FLOPS, rel=1e-6)
    assert kept.made == 2 and not kept.said


def test_modules_compiled_within_the_second_of_a_change_are_not_used(kept, here, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    module, path = tmp_path / "work.py", tmp_path / "program.py"
    path.write_text(PYTHON.format("from work import WORK as flops"))
    module.write_text("WORK = 4e9\n")
    os.utime(module, (1e9, 1e9))
    compiled = Path(py_compile.compile(str(module), doraise=True))
    module.write_text("WORK = 8e9\n")  # as long as before, and with the same second of change
    os.utime(module, (1e9, 1e9))
    assert kept.time_s(path) == pytest.approx(8e9 / SPEED_FLOPS, rel=1e-6)
    assert list(compiled.parent.iterdir()) == [compiled]  # nothing is left beside the user's files


def test_python_packages_and_relative_imports_belong_to_the_program(tmp_path):
    files = {
        "program.py": "from pkg import work\nfrom other.deep.last import N\nmain = work.main\n",
        "pkg/__init__.py": "",
        "pkg/work.py": "from . import parts\nfrom .sub.more import MORE\ndef main(rank): pass\n",
        "pkg/parts.py": "",
        "pkg/sub/__init__.py": "",
        "pkg/sub/more.py": "from ..up import UP\nMORE = 1\n",
        "pkg/up.py": "UP = 1\n",
        "other/deep/last.py": "N = 1\n",  # folders without __init__.py
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "pkg" / "unused.py").write_text("")
    hashes = [read_program(tmp_path / "program.py").content_hash]
    for name, content in files.items():
        (tmp_path / name).write_text(content + "X = 1\n")
        hashes.append(read_program(tmp_path / "program.py").content_hash)
    assert len(set(hashes)) == len(files) + 1
    (tmp_path / "pkg" / "unused.py").write_text("X = 1\n")
    assert read_program(tmp_path / "program.py").content_hash == hashes[-1]


def test_a_recording_is_made_anew_when_an_input_has_changed(kept, here, tmp_path, monkeypatch):
    spec = spec_of(c_program(tmp_path, FROM_STREAM))
    flops = []
    with Store(tmp_path / "store") as store:
        for content in ("4e9", "4e9", "8e9"):
            (here / "input.dat").write_text(content)
            recording = record_events(spec, 1, store=store)
            flops.append(sum(events["amount"][events["kind"] == 0].sum() for events in recording.events))
            for entry in store.entries():
                assert "input.dat" in entry.identity["inputs"]["files"]
    assert flops == pytest.approx([4e9, 4e9, 8e9], rel=1e-6)


def test_results_without_inputs_are_shown_but_not_used(kept, here, tmp_path, capsys):
    """As earlier versions have left them."""
    spec = spec_of(c_program(tmp_path, FROM_STREAM))
    assert kept.time_s(spec.target.problem.program.path) == pytest.approx(0.1)
    folder = tmp_path / "store"
    with Store(folder) as store:
        (entry,) = (entry for entry in store.entries() if entry.kind == "record")
        payload = store.get("record", entry.key)
        old = {name: value for name, value in entry.identity.items() if name != "inputs"}
        store.put("record", entry.key, old, payload, summary="old")
        assert store.get_record(old) is None
        store._put("recording", "0" * 16, recording_identity(spec, 1), b"old", None, "", binary=True)
        assert not store.unchanged("recording", recording_identity(spec, 1))
    assert store_command(["list", "--wide", "--store", str(folder)]) == 0
    assert capsys.readouterr().out.count("made before inputs were noted: not used again") == 2
    assert store_command(["show", entry.key, "--store", str(folder)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["note"].startswith("made before") and shown["payload"]["time_s"] == payload["time_s"]
    assert kept.time_s(spec.target.problem.program.path) == pytest.approx(0.1)
    assert store_command(["list", "--wide", "--kind", "record", "--store", str(folder)]) == 0
    assert "made before" not in capsys.readouterr().out
    (here / "input.dat").write_text("8e9")
    assert store_command(["list", "--wide", "--kind", "record", "--store", str(folder)]) == 0
    assert "the file input.dat has changed: not used" in capsys.readouterr().out


def test_a_record_names_its_inputs(here, tmp_path, capsys):
    path = c_program(tmp_path, FROM_STREAM)
    (here / "input.dat").write_text("4e9")
    assert main(["--scenario", "grid4x2", "--ranks", "1", "--program", str(path), "--json"]) == 0
    digest = hashlib.sha256(b"4e9").hexdigest()
    assert json.loads(capsys.readouterr().out)["inputs"]["files"]["input.dat"] == digest


COMMAND = ["--scenario", "grid4x2", "--jobs", "1", "--json"]


@pytest.mark.parametrize("command", ["predict", "validation"])
def test_commands_do_not_use_stale_results(here, tmp_path, capsys, command):
    path = c_program(tmp_path, FROM_STREAM)
    asked = [*COMMAND, "--program", str(path), "--store", str(tmp_path / "store")]
    answers = []
    for content in ("4e9", "4e9", "8e9", None):
        if content is None:
            (here / "input.dat").unlink()
        else:
            (here / "input.dat").write_text(content)
        if command == "predict":
            assert predict([*asked, "--predictor", "dpgraph"]) == 0
            (found,) = json.loads(capsys.readouterr().out)["predictions"]
            answers.append(found["prediction"]["time_s"])
        else:
            assert validate([*asked, "--predictor", "dpgraph"]) == 0
            (row,) = json.loads(capsys.readouterr().out)["results"]
            assert row["predicted_s"] == pytest.approx(row["simulated_s"], rel=1e-3)
            answers.append(row["simulated_s"])
    assert answers == pytest.approx([0.1, 0.1, 0.2, 0.1], rel=1e-3)


NAMELIST = """program reads
  use mpi
  integer :: ranks, ierror
  real(8) :: u
  logical :: there
  namelist /size/ ranks
  call mpi_init(ierror)
  open(10, file='input.nml', status='old')
  read(10, nml=size)
  open(11, file='raw.bin', form='unformatted', status='old')
  read(11) u
  open(12, file='direct.bin', form='unformatted', access='direct', recl=8, status='old')
  read(12, rec=2) u
  open(13, file='stream.bin', access='stream', form='unformatted', status='old')
  read(13, pos=9) u
  inquire(file='perhaps.txt', exist=there)
  call mpi_finalize(ierror)
end program
"""


def test_what_a_program_in_fortran_reads_in_any_form_is_an_input(here):
    two = struct.pack("2d", 1, 2)
    (here / "reads.f90").write_text(NAMELIST)
    (here / "input.nml").write_text("&size ranks=5 /\n")
    (here / "raw.bin").write_bytes(struct.pack("<idi", 8, 1, 8))  # a record between its lengths
    for name in ("direct.bin", "stream.bin"):
        (here / name).write_bytes(two)
    files = simulate(spec_of(here / "reads.f90")).inputs.files
    assert files["direct.bin"] == files["stream.bin"] == hashlib.sha256(two).hexdigest()
    assert {"input.nml", "raw.bin"} <= files.keys() and files["perhaps.txt"] == "missing"


def test_more_files_than_can_be_compared_each_time_are_said_and_not_kept(monkeypatch, here):
    monkeypatch.setattr("apps.child.inputs.MOST_FILES", 2)
    body = 'char name[9]; struct stat s; for (int i = 0; i < 5; i++) { sprintf(name, "f%d", i); stat(name, &s); }'
    assert simulate(spec_of(c_program(here, body))).inputs.hidden == ("the program reads more than 2 files",)


def test_a_current_folder_with_too_many_entries_is_refused(monkeypatch, here):
    monkeypatch.setattr("apps.child.run_folder.MOST_ENTRIES", 3)
    for name in "abc":
        (here / name).touch()
    with pytest.raises(UserError, match="the current folder: it has more than 3 entries"):
        simulate(spec_of(c_program(here, "")))
