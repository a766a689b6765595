"""Contents of the paper's figures, without writing them to files."""

import pytest

from platforms.plotting import charts
from predictor.hierarchical import figures
from predictor.hierarchical.cli import main


@pytest.fixture
def drawn(monkeypatch):
    """Return the figures by name, in place of their files."""
    made = {}
    monkeypatch.setattr(charts, "save_figure", lambda figure, path, *, dpi: made.__setitem__(path.stem, figure))
    return made


def test_a_node_is_as_fast_as_its_cores_or_its_memory():
    # By hand: l_c = 0.5 Gflop/s and x = 20, so that memory feeds 10 Gflop/s, which 20 cores reach; with Hockney's
    # s(z) = z / (1 + z) these reach half of it.
    roofline, efficiency = figures.node_figure().axes
    speed = {line.get_label(): dict(zip(*line.get_data(), strict=True)) for line in roofline.lines}
    assert speed["s(z) = min(1, z)"][10] == 5 and speed["s(z) = min(1, z)"][20] == speed["s(z) = min(1, z)"][64] == 10
    assert speed["s(z) = z / (1 + z)"][20] == 5
    assert speed["q l_c"][64] == 32
    assert efficiency.get_title() == "eta_m(x, q)"


def test_all_are_written_and_named(drawn, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(figures, "SIZES", {6: (10**6,), 8: (10_000,)})
    monkeypatch.setattr(figures, "MOST_POINTS", 20)
    assert main(["--figures", str(tmp_path / "new")]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{tmp_path}/new/{name}.png" for name in drawn]
    titles = {name: [axes.get_title() for axes in figure.axes] for name, figure in drawn.items()}
    # docs/predictors/hierarchical.md: (6) follows from the definitions, (8) is printed with 77/17 for 77/27.
    assert titles["equation-6"] == ["eq. (6), printed = derived: scalar-product on bwGRiD, n = 1,000,000"]
    assert [title[:19] for title in titles["equation-8"]] == ["eq. (8), printed: h", "eq. (8), derived: h"]
    assert "d(p) = sqrt(p)" in titles["general-sqrt-p"][0]


def test_a_disk_that_is_full_is_said_in_one_line(refused, monkeypatch, tmp_path):
    def full(figure, path, *, dpi):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(charts, "save_figure", full)
    refused(main, ["--figures", str(tmp_path)], f"--figures {tmp_path}: cannot be written: No space left on device")
