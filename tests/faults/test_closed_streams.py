"""Closed and full streams, pipes without a reader, and too few processes: one line, the right status, no waiting."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from platforms.errors import UserError
from platforms.files import writing

ROOT = Path(__file__).parents[2]
RUN = "-m gridval program run --app ep --class S --scenario grid4x2 --ranks 4"


def shell(words, redirections="", *, before="", timeout_s=120.0, **options):
    """Run a command of Python in a shell with these redirections; return status, output and errors."""
    line = f"{before}{sys.executable} {words} {redirections}"
    done = subprocess.run(["sh", "-c", line], cwd=ROOT, capture_output=True, text=True, timeout=timeout_s, **options)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("redirections", [">&-", ">&- <&-"])
def test_a_closed_output_is_refused_before_anything_is_simulated(redirections):
    said = "error: standard output: it is closed. Open it, or send it to /dev/null.\n"
    assert shell(RUN, redirections) == (2, "", said)


@pytest.mark.parametrize("redirections", ["2>&-", "2>/dev/full", "2>&- <&-"])
def test_without_standard_error_the_results_and_the_status_are_the_same(redirections):
    status, printed, _ = shell(RUN, redirections)
    assert status == 0 and printed.startswith("time ")
    assert shell("-m gridval program run --app nonsense", redirections)[0] == 2
    assert shell("-m gridval program run --nonsense", redirections)[0] == 2


def test_without_any_stream_the_status_says_it():
    assert shell(RUN, ">&- 2>&- <&-")[0] == 2


@pytest.mark.parametrize("words", ["-m gridval program run --help", "-m validation.run --help-all", RUN])
def test_a_full_output_is_one_line(words):
    assert shell(words, ">/dev/full") == (1, "", "error: output: No space left on device\n")


def test_a_file_into_a_pipe_that_nobody_reads_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "PATIENCE_S", 0.2)
    os.mkfifo(tmp_path / "r.html")
    with pytest.raises(UserError, match=r"--report .*: cannot be written: a pipe that nobody reads for 0.2 s"):
        writing.write_text("--report", str(tmp_path / "r.html"), "<html>")


def test_a_pipe_with_a_reader_gets_the_file(tmp_path):
    os.mkfifo(tmp_path / "grid.xml")
    reader = subprocess.Popen(["cat", str(tmp_path / "grid.xml")], stdout=subprocess.PIPE, text=True)
    assert shell(f"-m gridval platform make --scenario grid4x2 --output {tmp_path / 'grid.xml'}")[0] == 0
    assert reader.communicate(timeout=20)[0].rstrip().endswith("</platform>")


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("setpriv") is None, reason="the limit does not bind root")
@pytest.mark.parametrize("processes", [4, 5])  # a run needs six
def test_too_few_processes_are_one_line(processes):
    # A user whose processes are counted for this test alone, with files of its own.
    user = 61000 + processes
    tmp_path = Path(tempfile.mkdtemp())  # pytest's own is closed to other users
    for name in ("cache", "home"):
        (tmp_path / name).mkdir(mode=0o777)
        (tmp_path / name).chmod(0o777)
    os.chmod(tmp_path, 0o777)
    environment = {**os.environ, "HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
    environment |= {"GRID_VALIDATOR_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    drop = f"exec setpriv --reuid {user} --regid {user} --clear-groups bash -c"
    words = f"{sys.executable} -m gridval program run --app ep --class S --scenario grid4x2 --ranks 4"
    try:
        done = subprocess.run(
            ["sh", "-c", f"{drop} 'ulimit -u {processes}; exec {words}'"], cwd=tmp_path, env=environment,
            capture_output=True, text=True, timeout=200,
        )  # fmt: skip
    finally:
        shutil.rmtree(tmp_path)
    if "No module named" in done.stderr or "Permission denied" in done.stderr:
        pytest.skip("another user cannot read this folder")
    assert "Traceback" not in done.stderr
    assert done.returncode in (1, 2) and done.stderr.startswith("error: ")
    assert "Resource temporarily unavailable" in done.stderr or "no more processes" in done.stderr


@pytest.mark.parametrize("value", ["abc", "-1", "1e9", "9" * 40, "\u0663"])
def test_a_date_that_is_no_number_is_refused_at_once(value):
    status, printed, said = shell(RUN, env={**os.environ, "SOURCE_DATE_EPOCH": value})
    assert (status, printed) == (2, "") and said.startswith("error: SOURCE_DATE_EPOCH=") and said.count("\n") == 1


def test_too_little_memory_is_one_line():
    status, _, said = shell(
        "-m validation.run --app ep --class S --scenario grid4x2 --ranks 8", before="ulimit -v 120000; ",
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # with more, it says itself that it lacks memory
    )  # fmt: skip
    assert status != 0 and "Traceback" not in said and said.count("\n") <= 2
