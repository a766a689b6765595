"""The picture of measured runs and their predictions."""

from types import SimpleNamespace

from validation.measured.judge import JUDGED, LEFT_OUT, Judged
from validation.measured.picture import runs_figure
from validation.measured.runs import Run


def judged(app, ranks, role, made=True):
    prediction = SimpleNamespace(time_s=2.0, low_s=1.5, high_s=3.0) if made else None
    return Judged(Run(app, "B", ranks, 2, 2.5), role, prediction)


def test_programs_that_are_judged_have_a_panel_with_their_evidence():
    rows = [judged("cg", 8, JUDGED), judged("cg", 4, LEFT_OUT), judged("mg", 4, LEFT_OUT)]
    rows.append(judged("lu", 4, JUDGED, False))
    figure = runs_figure(rows)
    (axes,) = (axes for axes in figure.axes if axes.get_visible())
    assert axes.get_title() == "CG B"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["4\n2", "8\n2"]
    assert [list(line.get_ydata()) for line in axes.lines] == [[2.5], [1.5, 3.0], [2.0]] * 2
    (legend,) = figure.legends
    assert {text.get_text() for text in legend.get_texts()} == {
        "measured", "predicted: judged", "predicted: evidence, predicted from the rest"
    }  # fmt: skip
