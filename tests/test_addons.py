"""The core works without any add-on: it imports none (the contract in pyproject.toml), and runs the main job alone."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout
ROOT = Path(__file__).parents[1]
PACKAGES = ("platforms", "apps", "predictor", "validation")
MOST_CORE_LINES = 50_400
COUNTED = {".py", ".c", ".h", ".cpp", ".hpp", ".j2", ".html", ".css", ".js"}  # program text; tables of data are not


def contract():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    return next(one for one in contracts if one["name"] == "The core imports no add-on")


CORE, ADD_ONS = contract()["source_modules"], contract()["forbidden_modules"]
# Packages and rooms that have both: what stands directly in them is listed, and they themselves are not.
DIVIDED = {room.rpartition(".")[0] for room in (*CORE, *ADD_ONS)}


def files_of(room):
    """Return the files of a room that belong to no room inside it."""
    path = ROOT.joinpath(*room.split("."))
    files = path.rglob("*") if path.is_dir() else [path.with_suffix(".py")]
    inner = [ROOT.joinpath(*name.split(".")) for name in (*CORE, *ADD_ONS, *DIVIDED) if name.startswith(f"{room}.")]
    inside = {part for path in inner for part in (path, path.with_suffix(".py"))}
    return sorted(file for file in files if file.suffix in COUNTED and inside.isdisjoint([file, *file.parents]))


def without(folder, rooms):
    """Return a copy of the packages without these rooms."""
    for package in PACKAGES:  # with what Python compiled, which need not be compiled again
        shutil.copytree(ROOT / package, folder / package)
    for room in rooms:
        path = folder.joinpath(*room.split("."))
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.with_suffix(".py").unlink()
    return folder


def run(folder, *words):
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, "-P", "-m", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def main_job(folder):
    """Run a small main job with a page, and return the predicted times by predictor."""
    done = run(
        folder, "validation.run", "--scenario", "grid4x2", "--app", "cg", "--class", "S", "--no-store", "--json",
        "--report", "page.html",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (folder / "page.html").stat().st_size > 10_000
    return {row["predictor"]: (row["predicted_s"], row["simulated_s"]) for row in json.loads(done.stdout)["results"]}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return main_job(without(tmp_path_factory.mktemp("whole"), []))


def test_every_room_is_of_the_core_or_an_add_on():
    rooms = {
        f"{divided}.{path.stem}"
        for divided in DIVIDED
        for path in ROOT.joinpath(*divided.split(".")).iterdir()
        if (path.suffix == ".py" and path.stem != "__init__") or (path / "__init__.py").exists()
    }
    assert {*CORE, *ADD_ONS} == rooms - DIVIDED


def test_the_core_is_small():
    lines = {
        room: sum(len(file.read_text("utf-8").splitlines()) for file in files_of(room)) for room in (*CORE, *DIVIDED)
    }
    assert sum(lines.values()) <= MOST_CORE_LINES, lines


def test_the_main_job_needs_no_add_on(tmp_path, whole):
    folder = without(tmp_path, ADD_ONS)
    assert main_job(folder) == whole
    for words, said in (
        (["--predictor", "npt"], "no such model"),
        (["--predictor", "dpgraph", "--timeline", "t.json"], "this add-on is not installed"),
        (["--program", "x.py"], ""),
    ):
        done = run(folder, "validation.run", "--scenario", "grid4x2", "--app", "cg", "--class", "S", *words)
        assert done.returncode == 2 and said in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("room", ADD_ONS)
def test_the_main_job_does_without(tmp_path, whole, room):
    assert main_job(without(tmp_path, [room])) == whole
