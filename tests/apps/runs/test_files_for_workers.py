"""The platform file and its profiles reach a worker that has a disk of its own."""

import shutil

import pytest

from apps.programs.own_program import read_program
from apps.programs.problem import own_problem
from apps.runs.dask_cluster import _files_to_send, _simulate_there, difference, place
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from platforms.errors import UserError
from platforms.read.content import loadable
from platforms.read.read import read_platform


def platform_with(folder, profile):
    folder.mkdir(exist_ok=True)
    (folder / "p.xml").write_text(
        "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\"><platform version='4.1'>"
        f"<zone id='w' routing='Full'><host id='a' speed='1Gf' speed_file='{profile}'/></zone></platform>"
    )
    return folder / "p.xml"


def test_profiles_travel_with_the_platform(tmp_path):
    path = platform_with(tmp_path / "there", "sub/half.txt")
    (tmp_path / "there" / "sub").mkdir()
    (tmp_path / "there" / "sub" / "half.txt").write_text("0 0.5\n")
    (tmp_path / "work.py").write_text("def main(rank):\n    rank.compute(4e9)\n")
    target = Target(own_problem(read_program(tmp_path / "work.py")), read_platform(path), ("a",))
    spec = RunSpec(target, engine="s4u")
    shutil.rmtree(tmp_path / "there")  # the copies that were read travel
    files = _files_to_send(loadable(target.platform))
    assert sorted(map(len, files.values()))[0] == len("0 0.5\n") and len(files) == 2 and "p.xml" in files
    record = _simulate_there(spec, files, None, place())
    assert record.time_s == pytest.approx(4e9 / (0.5 * 1e9))


@pytest.mark.parametrize("name", ["../half.txt", "{folder}/half.txt"])
def test_a_profile_elsewhere_is_refused(tmp_path, name):
    (tmp_path / "half.txt").write_text("0 0.5\n")
    path = platform_with(tmp_path / "there", name.format(folder=tmp_path))
    with pytest.raises(UserError, match="does not reach the workers"):
        _files_to_send(path)


@pytest.mark.parametrize("name", ["version of this project's code", "SimGrid", "C compiler", "kind of processor"])
def test_a_worker_with_other_code_or_tools_refuses_the_run(tmp_path, name):
    path = platform_with(tmp_path, "half.txt")
    (tmp_path / "half.txt").write_text("0 0.5\n")
    (tmp_path / "work.py").write_text("def main(rank):\n    rank.compute(4e9)\n")
    target = Target(own_problem(read_program(tmp_path / "work.py")), read_platform(path), ("a",))
    clients = {**place(), name: "other"}
    with pytest.raises(UserError, match=rf"the worker on .* has another {name} \(.*, here other\)") as refusal:
        _simulate_there(RunSpec(target, engine="s4u"), {}, None, clients)
    assert "\n" not in str(refusal.value)


def test_equal_places_do_not_differ():
    assert difference(place(), dict(place())) is None
    assert place()["SimGrid"] and place()["C compiler"] != "unknown"
