"""Disks that are full or not writable give a clear line; no file is half-written, and finished results stay."""

import os
import resource
import subprocess
import sys
from contextlib import contextmanager

import pytest

import platforms.make
import platforms.system.cli
from apps.errors import SimulationError
from apps.programs.problem import problem
from apps.runs.engines import run_iterations
from apps.runs.runner import Runner
from apps.spec.run_spec import RunSpec
from apps.spec.target import Target
from apps.store import Store
from platforms.errors import UserError
from platforms.files.scratch import scratch_folder
from platforms.files.writing import write_whole
from platforms.grids.scenario import named_grid
from platforms.model.placement import block
from platforms.read.read import materialise


@pytest.fixture
def spec():
    platform = materialise(named_grid("grid4x2"))
    return RunSpec(Target(problem("mg", "S"), platform, block(platform, 4)), iterations=4)


def command(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "validation.run", "--scenario", "grid4x2", "--app", "mg", "--class", "S", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def test_a_full_store_costs_no_result_and_keeps_what_it_has(spec, disk, fill):
    place, lines = disk(2), []
    with Store(place / "store", report=lines.append) as store:
        assert store.put("recording", "before", {}, {"n": 1})
        fill(place)
        with Runner(jobs=1, store=store) as runner:
            assert runner.record(spec).time_s > 0
        (line,) = lines
        assert "full" in line or "No space left" in line
        (place / "ballast").unlink()
        with Runner(jobs=1, store=store) as runner:
            runner.record(spec)
        assert {entry.kind for entry in store.entries()} == {"record", "recording"}
        assert store.get("recording", "before") == {"n": 1}


@pytest.mark.parametrize("room", [0, 8192])
def test_a_full_folder_of_temporary_files_is_named(spec, disk, fill, monkeypatch, room):
    place = disk(1)
    fill(place, but_bytes=room)
    monkeypatch.setenv("TMPDIR", str(place))
    with pytest.raises((UserError, SimulationError), match="No space left on device"):
        run_iterations(spec, 4)
    assert [path.name for path in place.iterdir()] == ["ballast"]


@pytest.mark.slow
def test_a_full_disk_for_results_is_named_and_the_results_are_printed(disk, fill, tmp_path):
    out = disk(1) / "out"
    out.mkdir()
    fill(out.parent)
    done = command("--out", str(out), "--no-store")
    assert done.returncode == 2
    assert "hcf:constant" in done.stdout  # the tables are printed
    assert done.stderr.splitlines()[-1].startswith(f"error: --out {out}: cannot be written: No space left on device")
    assert not list(out.iterdir())


def test_a_file_that_cannot_be_written_anew_stays_as_it_was(disk, fill):
    place = disk(1)
    (place / "results.csv").write_text("the last results")
    fill(place)
    with pytest.raises(OSError, match="No space left"):
        write_whole(place / "results.csv", b"x" * 100_000)
    assert (place / "results.csv").read_text() == "the last results"
    assert sorted(path.name for path in place.iterdir()) == ["ballast", "results.csv"]


@pytest.fixture
def limit(monkeypatch):
    """``limit(most_bytes)``: files cannot become longer within the context, as if the disk were full."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # Python would keep a part of what it compiles

    @contextmanager
    def limited(most_bytes):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return limited


@pytest.mark.parametrize(
    ("main", "words"),
    [
        (platforms.make.main, "--scenario grid4x8 --output"),
        (platforms.system.cli.main, "grid4x8 --count x=32 --write-hostfile"),
    ],
)
def test_an_output_that_fails_half_way_leaves_the_old_file(main, words, limit, refused, tmp_path):
    path = tmp_path / "output"
    path.write_text("the last output")
    with limit(64):
        refused(main, [*words.split(), str(path)], f"{path}: cannot be written: File too large")
    assert path.read_text() == "the last output"
    assert [one.name for one in tmp_path.iterdir()] == ["output"]


def test_what_is_no_common_file_is_written_in_place(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "file").chmod(0o640)
    (tmp_path / "link").symlink_to("file")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_text() == "new"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
    write_whole("/dev/null", b"gone")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["GRID_VALIDATOR_CACHE", "TMPDIR", "store"])
def test_a_read_only_folder_is_one_clear_line(disk, what):
    place = disk(1, "ro")
    options, environment = (
        (["--store", str(place / "store")], {}) if what == "store" else (["--no-store"], {what: str(place)})
    )
    done = command(*options, **environment)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()[-1:]
    assert line.startswith("error: ") and str(place) in line
    assert "Traceback" not in done.stderr


def test_other_errors_in_a_scratch_folder_are_not_taken_for_a_full_disk(tmp_path):
    with pytest.raises(FileNotFoundError), scratch_folder("test", tmp_path) as folder:
        (folder / "none").read_bytes()
    assert not list(tmp_path.iterdir())
