"""Files that change while a command runs: runs use what was hashed, or fail in one line, and nothing wrong is kept."""

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

import apps.recording.recorder.library as recorder
from apps.errors import KernelError
from apps.programs import compile as compiling
from apps.programs.kernel import named_kernel
from apps.programs.own_program import read_program
from apps.programs.problem import own_problem, problem
from apps.runs.simulate import simulate
from apps.s4u import engine
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.errors import PlatformError
from platforms.read import read
from platforms.read.content import loadable
from platforms.read.read import check_connected, read_platform

XML = (
    "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\"><platform version='4.1'>"
    "<zone id='w' routing='Full'>{hosts}<link id='l' bandwidth='1GBps' latency='1us'/>"
    "<route src='a' dst='b'><link_ctn id='l'/></route></zone></platform>"
)
CHANGED = "was changed while the command ran|were changed while the command ran"


def hosts(speed, profile=""):
    return f"<host id='a' speed='{speed}'{profile}/><host id='b' speed='{speed}'/>"


def on(path, *, engine="smpi"):
    return RunSpec(Target(problem("ep", "S"), read_platform(path), ("a", "b")), engine=engine)


@pytest.mark.parametrize("engine", ["smpi", "s4u"])
@pytest.mark.parametrize("what", ["other", "empty", "gone", "folder"])
def test_a_run_uses_the_platform_that_was_read(tmp_path, engine, what):
    path = tmp_path / "p.xml"
    path.write_text(XML.format(hosts=hosts("1Gf")))
    spec = on(path, engine=engine)
    expected = simulate(spec).time_s
    path.unlink()
    if what in ("other", "empty"):
        path.write_text(XML.format(hosts=hosts("1Mf")) if what == "other" else "")
    elif what == "folder":
        path.mkdir()
    assert simulate(spec).time_s == expected
    check_connected(spec.target.platform, ["a", "b"])


@pytest.mark.parametrize("name", ["half.txt", "sub/half.txt", "../half.txt", "a&amp;b.txt"])
def test_a_run_uses_the_profiles_that_were_read_wherever_they_are(tmp_path, name):
    (tmp_path / "there" / "sub").mkdir(parents=True)
    file = tmp_path / "there" / name.replace("&amp;", "&")
    file.write_text("0 0.5\n")
    path = tmp_path / "there" / "p.xml"
    path.write_text(XML.format(hosts=hosts("1Gf")))
    full_s = simulate(on(path)).time_s
    path.write_text(XML.format(hosts=hosts("1Gf", f" speed_file='{name}'")))
    spec = on(path)
    file.write_text("0 0.001\n")
    assert simulate(spec).time_s == pytest.approx(2 * full_s, rel=1e-3)  # all but all of EP is computation
    assert simulate(on(path)).time_s > 100 * full_s


def test_a_profile_of_the_current_folder_does_not_take_the_place_of_the_read_one(tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "half.txt").write_text("0 0.5\n")
    path = tmp_path / "there" / "p.xml"
    path.write_text(XML.format(hosts=hosts("1Gf", " speed_file='half.txt'")))
    spec = on(path)
    expected = simulate(spec).time_s
    monkeypatch.chdir(tmp_path)
    (tmp_path / "half.txt").write_text("0 0.001\n")  # after it was read
    assert simulate(spec).time_s == expected


def test_a_platform_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "p.xml"
    first = f"{XML.format(hosts=hosts('1.5Gf'))}<!-- {uuid4()} -->"  # which the cache folder does not hold yet
    path.write_text(first)
    ask = read._ask

    def slow(*asked):
        path.write_text(XML.format(hosts=hosts("2.5Gf")))
        described = ask(*asked)
        return described

    with monkeypatch.context() as patched:
        patched.setattr(read, "_ask", slow)
        with pytest.raises(PlatformError, match="it was changed while it was read"):
            read_platform(path)
    path.write_text(first)  # the first content again: nothing wrong is kept for it
    assert read_platform(path).host("a").speed_flops == 1.5e9


def test_a_compiled_platform_that_changed_is_refused(tmp_path):
    path = tmp_path / "p.xml"
    path.write_text(XML.format(hosts=hosts("1Gf")))
    platform = read_platform(path)
    shared = tmp_path / "p.so"
    shared.write_bytes(b"new")
    changed = type(platform)("p", shared, "hash", platform.clusters, file_hash="of the old one")
    with pytest.raises(PlatformError, match=CHANGED):
        loadable(changed)


@pytest.fixture
def kernel(tmp_path):
    """A copy of the kernel EP in a folder of its own, known under its name for the test."""
    known = named_kernel("ep")
    folder = tmp_path / "ep"
    shutil.copytree(known.folder, folder)
    shutil.copytree(known.folder.parent / "harness", tmp_path / "harness")
    shutil.copytree(known.folder.parents[1] / "common", tmp_path.parent / "common", dirs_exist_ok=True)
    moved = [folder / source.name if source.parent == known.folder else source for source in known.sources]
    return replace(known, folder=folder, sources=tuple(moved))


def test_a_kernel_whose_source_changed_is_refused(kernel):
    compiling.kernel_hash(kernel)
    source = kernel.folder / "ep.c"
    source.write_text(source.read_text().replace("charge_flops(", "charge_flops(&*", 0) + "\n/* changed */\n")
    with pytest.raises(KernelError, match=CHANGED):
        compiling.kernel_program(kernel)


@pytest.mark.parametrize("module", [recorder, engine])
def test_our_own_code_that_changed_is_refused(tmp_path, monkeypatch, module):
    apps = Path(recorder.__file__).parents[2]
    copy = tmp_path / module._HERE.relative_to(apps)
    for folder in (module._HERE, apps / "common", apps / "kernels" / "harness"):  # files name others by their places
        copied = tmp_path / folder.relative_to(apps)
        shutil.copytree(folder, copied, ignore=shutil.ignore_patterns("__pycache__"))
    known = recorder.recorder_hash if module is recorder else engine.layer_hash
    known.cache_clear()
    monkeypatch.setattr(module, "_HERE", copy)
    known() if module is recorder else known(None)
    changed = next(iter(sorted(copy.glob("*.c" if module is recorder else "*.py"))))
    with changed.open("a") as file:
        file.write("\n")
    with pytest.raises(KernelError, match=CHANGED):
        recorder.recorder_library() if module is recorder else engine.check_layer(None)
    known.cache_clear()


PROGRAM = """
#include <stdlib.h>
#include <mpi.h>
int main(int argc, char **argv)
{
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0 && argc > 1 && system("cp other mine.new && mv mine.new mine"))
    return 3;
  MPI_Finalize();
  return 0;
}
"""


def test_a_binary_that_changes_while_it_runs_gives_no_record(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.c").write_text(PROGRAM)
    subprocess.run(["smpicc", "-O1", "mine.c", "-o", "mine"], check=True)
    subprocess.run(["smpicc", "-O2", "mine.c", "-o", "other"], check=True)
    (tmp_path / "p.xml").write_text(XML.format(hosts=hosts("1Gf")))
    platform = read_platform(tmp_path / "p.xml")

    def run(arguments):
        return simulate(RunSpec(Target(own_problem(read_program("mine", arguments)), platform, ("a", "b"))))

    assert run("").time_s >= 0
    swap = "cp other mine.new && mv mine.new mine"
    (tmp_path / "mine.c").write_text(PROGRAM.replace(swap, f"cd {tmp_path} && {swap}"))
    subprocess.run(["smpicc", "-O1", "mine.c", "-o", "mine"], check=True)
    with pytest.raises(KernelError, match=CHANGED):
        run("change")
