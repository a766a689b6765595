"""The notebooks under examples/notebooks run."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == ["choosing-nodes", "first-validation", "your-platform-and-program"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_its_folder(path, monkeypatch, capsys):
    """The last expression of a cell is shown, as a notebook does."""
    book = json.loads(path.read_text("utf-8"))
    assert (book["nbformat"], book["cells"][0]["cell_type"]) == (4, "markdown")
    monkeypatch.chdir(path.parent)
    names, shown = {}, []
    for cell in book["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [] and cell["execution_count"] is None  # they are made where it is opened
        *lines, last = text.rsplit("\n", 1)
        try:
            value = compile(last, str(path), "eval")
        except SyntaxError:
            exec(compile(text, str(path), "exec"), names)
            continue
        exec(compile("".join(lines), str(path), "exec"), names)
        if (result := eval(value, names)) is not None:
            shown.append(result)
    assert shown
    for value in shown:
        html = getattr(value, "_repr_html_", None) or getattr(value, "_repr_svg_", None)
        assert html is None or html()
    check = {"first-validation": _first, "your-platform-and-program": _yours, "choosing-nodes": _choosing}[path.stem]
    check(names, capsys.readouterr().out)


def _first(names, printed):
    assert set(names["found"]["predictor"]) == {"hcf", "hcf:constant"}
    assert set(names["all_three"]["app"]) == {"cg", "mg", "ep"}


def _yours(names, printed):
    assert names["made"].time_s > 0 and set(names["found"]["ranks"]) == {44}
    assert "Did you mean structural?" in printed


def _choosing(names, printed):
    assert min(names["regret_pct"].values()) >= 0
