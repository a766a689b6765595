"""Any error in a kernel.toml gives one line and status 2."""

import pytest

from apps import run
from apps.programs import kernel

GOOD = """title = "t"
sources = ["k.c"]
reference_efficiency = 0.5
bytes_per_flop = 1.0
iterations = "niter"

[classes]
S = { niter = 3 }
"""
BROKEN = {
    "not TOML": "title = ",
    "not UTF-8": b"title = '\xff'",
    "empty": "",
    "a missing key": GOOD.replace('title = "t"\n', ""),
    "an unknown key": f"titel = 1\n{GOOD}",
    "a number as title": GOOD.replace('"t"', "3"),
    "lines in the title": GOOD.replace('"t"', '"a\\nb"'),
    "a text as sources": GOOD.replace('["k.c"]', '"k.c"'),
    "no sources": GOOD.replace('["k.c"]', "[]"),
    "numbers as sources": GOOD.replace('["k.c"]', "[1]"),
    "a source that is not there": GOOD.replace("k.c", "other.c"),
    "an efficiency as text": GOOD.replace("0.5", '"high"'),
    "an efficiency of 0": GOOD.replace("0.5", "0"),
    "an efficiency of nan": GOOD.replace("0.5", "nan"),
    "an unknown rule of memory": GOOD.replace("1.0", '"fast"'),
    "negative bytes": GOOD.replace("1.0", "-1.0"),
    "infinite bytes": GOOD.replace("1.0", "inf"),
    "a list of classes": GOOD.replace("[classes]\nS = { niter = 3 }", "classes = [1]"),
    "a class that is a number": GOOD.replace("{ niter = 3 }", "3"),
    "no class": GOOD.replace("S = { niter = 3 }", ""),
    "a date as parameter": GOOD.replace("{ niter = 3 }", "{ niter = 3, day = 2020-01-01 }"),
    "iterations that are no parameter": GOOD.replace('"niter"', '"other"'),
    "iterations as number": GOOD.replace('"niter"', "3"),
    "iterations that are a text": GOOD.replace("niter = 3", 'niter = "many"'),
    "an unknown rule for ranks": GOOD.replace("[classes]", 'ranks = "odd"\n[classes]'),
    "uniform as text": GOOD.replace("[classes]", 'uniform = "yes"\n[classes]'),
    "an integer beyond 64 bits": GOOD.replace("niter = 3", "niter = 99999999999999999999"),
    "deep nesting": f"title = {'[' * 5000}",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel, "_HERE", tmp_path)
    for known in (kernel.kernel_names, kernel._read_kernel):
        known.cache_clear()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "k.c").touch()
    yield tmp_path / "bad"
    for known in (kernel.kernel_names, kernel._read_kernel):
        known.cache_clear()


def test_the_good_one_is_read(folder):
    (folder / "kernel.toml").write_text(GOOD)
    assert kernel.named_kernel("bad").classes == {"S": {"niter": 3}}


@pytest.mark.parametrize("what", BROKEN)
def test_it_is_refused_in_one_line(folder, what, capsys):
    content = BROKEN[what]
    (folder / "kernel.toml").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert run.main(["--app", "bad", "--scenario", "grid4x2"]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"error: {folder / 'kernel.toml'}") and said.count("\n") == 1


def test_a_kernel_file_that_is_a_folder_is_refused(folder, capsys):
    (folder / "kernel.toml").mkdir()
    assert run.main(["--app", "bad", "--scenario", "grid4x2"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
