"""``gridval blocks figures``: the lines of the figures are the formulas of Table 1."""

import numpy as np
import pytest

from predictor.blocks.published.figures import collectives_figure, compute_figure, disk_figure, messages_figure
from predictor.blocks.published.formulas import published
from tests.verbs import blocks as main


def line(axes, number=0):
    one = axes.get_lines()[number]
    return dict(zip(np.asarray(one.get_xdata()).tolist(), np.asarray(one.get_ydata()).tolist(), strict=True))


def test_the_lines_have_the_values_of_table_3():
    model = published("galera+")
    time, power = compute_figure(model).axes
    # 11 million operations of 0.00165 us with 12 threads, of 0.00194 us with 24.
    assert (line(time)[12], line(time)[24]) == pytest.approx((18.15, 21.34))
    assert line(power)[0] == 78 and line(power)[48] == 151
    message, barrier = messages_figure(model).axes
    assert line(message)[1] == pytest.approx(1e-6 * (3.7 + 0.00063 * 2048))
    assert line(barrier)[64] == pytest.approx(1.4 + 7.5 * 6)
    scatter, gather, alltoall = collectives_figure(model).axes
    assert line(scatter)[2**20] == pytest.approx(1e-6 * (5.0 + 0.00340 * 2**20 / 2))  # two nodes
    assert line(gather)[2**20] == pytest.approx(1e-6 * (8.1 + 0.00346 * 2**20 / 2))
    assert line(alltoall)[2**20] == pytest.approx(1e-6 * (7.5 + 0.00012 * 2**20 * 2))
    (disk,) = disk_figure(model).axes
    assert line(disk, 1)[1] == pytest.approx(1e-6 * (1200 + 0.00474 * 2048))


@pytest.mark.slow
def test_the_command_writes_all_figures(tmp_path, capsys):
    assert main(["figures", "--model", "kask", "--plot", str(tmp_path / "made")]) == 0
    names = {path.name for path in (tmp_path / "made").iterdir()}
    assert names == {f"{kind}.png" for kind in ("compute", "messages", "bcast", "collectives", "disk")}
    assert len(capsys.readouterr().out.splitlines()) == 5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--model", "hardware", "--plot", "x"], "no published model"), (["--plot", "README.md"], "README.md")],
)
def test_a_wrong_option_is_one_line(capsys, arguments, words):
    assert main(["figures", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and words in said
