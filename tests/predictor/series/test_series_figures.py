"""Figures of odd series: one point, words along the axis, decades, points without a result, many lines."""

import pytest
from matplotlib.text import Text

from predictor.series.bars import MOST_BARS, bars_figure
from predictor.series.curves import Quantity, curves_figure, front_figure

TIME = Quantity("time_s", "time, s")
EFFICIENCY = Quantity("efficiency", "efficiency", logarithmic=False, whole=0.0)


def series(name, values, times_s, **others):
    """Return rows with one varied name and the same values of others."""
    return [
        {name: value, "time_s": time_s, "efficiency": time_s and 1.0, **others}
        for value, time_s in zip(values, times_s, strict=True)
    ]


def drawn(rows, over, names, quantities=(TIME,)):
    figure = curves_figure(rows, quantities, over, names)
    figure.draw_without_rendering()
    legend = [text.get_text() for one in figure.legends for text in one.get_texts()]
    return figure, figure.axes[0], legend


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels() if label.get_text()]


def test_one_point_has_one_tick_and_no_legend():
    _, axes, legend = drawn(series("n", [4], [2.0]), "n", ["n"])
    assert ticks(axes.xaxis) == ["4"] and legend == []
    low, high = axes.get_ylim()
    assert low < 2.0 < high


def test_decades_have_a_logarithmic_axis_with_short_ticks():
    _, axes, _ = drawn(series("n", [1, 100, 10**4, 10**6], [1.0, 1.0, 1.0, 1.0 + 1e-12]), "n", ["n"])
    assert axes.get_xscale() == "log" and ticks(axes.xaxis) == ["1", "100", "10000", "1e6"]
    assert axes.get_yscale() == "linear" and axes.get_ylim() == pytest.approx((0.95, 1.05))  # rounding errors


def test_files_are_called_without_folders_and_long_words_are_slanted():
    names = ["examples/systems/galera-plus.toml", "grid4x8", "examples/blocks/cluster.toml", "one/more-of-them.toml"]
    _, axes, _ = drawn(series("system", names, [1.0, 2.0, 3.0, 4.0]), "system", ["system"])
    assert ticks(axes.xaxis) == ["galera-plus", "grid4x8", "cluster", "more-of-them"]
    boxes = [label.get_window_extent() for label in axes.xaxis.get_ticklabels()]
    assert {label.get_rotation() for label in axes.xaxis.get_ticklabels()} == {30.0}
    assert all(box.y0 >= 0 for box in boxes)  # inside the figure
    _, axes, _ = drawn(series("power", ["a", "b"], [1.0, 2.0]), "power", ["power"])
    assert {label.get_rotation() for label in axes.xaxis.get_ticklabels()} == {0.0}


def test_a_point_without_a_result_is_a_cross_on_the_axis():
    rows = series("n", [1, 2, 4], [4.0, None, 1.0], kind="a") + series("n", [1, 2, 4], [None] * 3, kind="b")
    _, axes, legend = drawn(rows, "n", ["n", "kind"])
    (crosses,) = [line for line in axes.get_lines() if line.get_marker() == "x"]
    assert crosses.get_xdata().tolist() == [2]
    assert legend == ["kind = a", "kind = b: not evaluated", "not evaluated"]
    _, axes, _ = drawn(series("n", [1, 2], [4.0, 2.0]), "n", ["n"])
    assert all(line.get_marker() != "x" for line in axes.get_lines())


def test_simulated_values_alone_are_drawn_too():
    rows = [row | {"simulated_time_s": 2.0} for row in series("n", [1, 2], [None, None])]
    simulated = Quantity("time_s", "time, s", "simulated_time_s")
    _, axes, legend = drawn(rows, "n", ["n"], (simulated, EFFICIENCY))
    assert next(line.get_ydata().tolist() for line in axes.get_lines() if len(line.get_xdata())) == [2.0, 2.0]
    assert legend == ["simulated (hollow)", "not evaluated"]


def test_the_legend_of_many_lines_fits_into_the_figure():
    rows = [
        one
        for work in range(1, 41)
        for one in series("n", [1, 2], [4.0 * work, 2.0 * work], work=work * 1e9, power="active-waiting")
    ]
    figure, _, legend = drawn(rows, "n", ["n", "work", "power"], (TIME, EFFICIENCY))
    assert legend[0] == "work = 1e9, power = active-waiting" and legend[-1] == "and 17 more" and len(legend) == 24
    box, whole = figure.legends[0].get_window_extent(), figure.bbox
    assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= whole.x1


def test_markers_at_an_efficiency_of_1_are_not_cut():
    _, axes, _ = drawn(series("n", [1, 2], [2.0, 1.0]), "n", ["n"], (EFFICIENCY,))
    low, high = axes.get_ylim()
    assert low == 0 and high == pytest.approx(1.05)


def test_labels_of_a_front_keep_clear_of_points_without_labels():
    rows = [{"n": n, "time_s": 1.0 + n / 30, "energy_j": 1.0 + n / 30, "on_front": n == 0} for n in range(30)]
    figure = front_figure(rows, TIME, Quantity("energy_j", "energy, J"), ["n"])
    figure.draw_without_rendering()
    (axes,) = figure.axes
    (label,) = axes.texts
    box = Text.get_window_extent(label)
    points = axes.transData.transform([(row["time_s"], row["energy_j"]) for row in rows])
    assert not any(box.x0 <= x <= box.x1 and box.y0 <= y <= box.y1 for x, y in points)


def test_more_bars_than_fit_are_said():
    rows = [{"n": n, "a_s": 1.0, "b_s": 3.0} for n in range(MOST_BARS + 2)]
    figure = bars_figure(rows, ("a_s", "b_s"), ["n"], title="this")
    (axes,) = figure.axes
    assert axes.get_title() == f"this\nthe first {MOST_BARS} of {MOST_BARS + 2}"
    assert [bar.get_width() for bar in axes.patches[:2]] == [25.0, 75.0]
