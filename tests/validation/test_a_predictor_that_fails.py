"""A predictor whose code cannot be compiled costs the others nothing: their rows are printed and written."""

import pytest

from platforms.errors import UserError
from predictor.native import library
from validation import run


@pytest.fixture
def no_compiled_code(monkeypatch):
    def refuse(*_, **__):
        raise UserError("compiling sharing", "no room for it", "Make room")

    library._loaded.cache_clear()
    monkeypatch.setattr(library, "compile_once", refuse)
    yield
    library._loaded.cache_clear()


def test_the_others_keep_their_rows(no_compiled_code, tmp_path, capsys):
    words = "--app cg --class S --scenario grid4x2 --ranks 8 --predictor structural,dpgraph,hcf --no-store"
    run.main([*words.split(), "--out", str(tmp_path)])
    printed = capsys.readouterr()
    rows = (tmp_path / "results.csv").read_text().splitlines()
    assert any(",hcf," in row for row in rows[1:])
    assert "no room for it" in printed.out + printed.err
