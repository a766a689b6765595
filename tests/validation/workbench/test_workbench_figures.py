"""Figures, fronts and comparisons of results, with values worked out by hand."""

import re

import pytest

from validation.workbench.queue.comparing import compared
from validation.workbench.queue.series import QUANTITIES, choices_of, front, series
from validation.workbench.queue.suites import QueuedCase
from validation.workbench.web.axes import count_axis, name_axis, number_axis
from validation.workbench.web.looks import Style
from validation.workbench.web.plot import Curve, Drawing, Mark, plot

# A program of 12 s on 2 ranks that halves with twice the ranks at first, as one predictor says, and is 10 % slower.
TIMES = {2: 12.0, 4: 6.0, 8: 4.0}


def drawn(ranks, simulated_s, predictor="hcf", predicted_s=None, number=None, **more):
    error = None if predicted_s is None else 100 * (predicted_s / simulated_s - 1)
    return {
        "id": ranks if number is None else number, "run": ranks, "suite": 1, "platform": "grid4x2",
        "network": "gigabit", "app": "cg", "class": "S", "ranks": ranks, "mapping": "block", "efficiency": 0.04,
        "predictor": predictor, "predicted_s": predicted_s, "simulated_s": simulated_s, "truth": "simulation",
        "energy_predicted_j": None, "energy_simulated_j": None, "error_pct": error, **more,
    }  # fmt: skip


@pytest.fixture
def scaling():
    return [drawn(ranks, time_s, predicted_s=1.1 * time_s) for ranks, time_s in TIMES.items()]


def values(found):
    return {line.name: {point.at: point.value for point in line.points} for line in found.lines}


def test_speed_up_and_efficiency_are_relative_to_the_fewest_ranks(scaling):
    speedup = series(scaling, QUANTITIES["speedup"], "ranks")
    assert values(speedup)["simulated"] == {2: 1.0, 4: 2.0, 8: 3.0}
    assert values(speedup)["hcf"] == pytest.approx({2: 1.0, 4: 2.0, 8: 3.0})
    assert speedup.base == "the run on 2 ranks"
    efficiency = series(scaling, QUANTITIES["efficiency"], "ranks")
    assert values(efficiency)["simulated"] == {2: 100.0, 4: 100.0, 8: 75.0}


def test_errors_and_times_are_as_in_the_table_and_measured_times_stand_beside(scaling):
    assert values(series(scaling, QUANTITIES["error"], "ranks")) == {"hcf": pytest.approx(dict.fromkeys(TIMES, 10.0))}
    found = series(scaling, QUANTITIES["time"], "ranks", lambda row: 13.0 if row["ranks"] == 2 else None)
    assert [line.kind for line in found.lines] == ["simulated", "measured", "hcf"]
    assert values(found)["measured"] == {2: 13.0}


def test_the_truth_is_one_line_however_many_predictors_there_are(scaling):
    other = [drawn(ranks, time_s, "npt", time_s, 10 + ranks) for ranks, time_s in TIMES.items()]
    found = series([*scaling, *other], QUANTITIES["time"], "ranks")
    assert values(found)["simulated"] == TIMES and len(found.lines) == 3


def test_lines_are_named_by_what_tells_their_cases_apart_alone(scaling):
    other = [drawn(ranks, time_s, number=10 + ranks, app="is", efficiency=0.1) for ranks, time_s in TIMES.items()]
    found = series([*scaling, *other], QUANTITIES["time"], "ranks")
    assert {line.case for line in found.lines} == {"cg", "is"}  # the efficiency comes with the kernel


def test_a_figure_of_too_many_cases_says_how_many_lines_are_left_out(scaling):
    rows = [drawn(2, 1.0, number=number, platform=f"grid{number}") for number in range(30)]
    found = series(rows, QUANTITIES["time"], "ranks")
    assert (len(found.lines), found.left_out) == (28, 2)


def test_the_front_has_the_runs_that_no_other_one_beats():
    rows = [drawn(number, time_s, energy_simulated_j=energy_j, number=number)
            for number, (time_s, energy_j) in enumerate([(3, 1), (1, 9), (2, 9), (2, 4), (4, 4)], 1)]  # fmt: skip
    found = choices_of([*rows, *rows])  # several predictors of the same runs
    assert len(found["simulated"]) == 5
    assert [(one.time_s, one.energy_j) for one in front(found["simulated"])] == [(1, 9), (2, 4), (3, 1)]


def queued(queue, ranks, row, network="gigabit", factor=1.0):
    suite = queue.add("s", "Ann", [
        QueuedCase(at, "grid4x2", network, "cg", "S", one, "block", "reference", "h") for at, one in enumerate(ranks)
    ])  # fmt: skip
    for run in queue.take(99).runs.values():
        queue.finish(run, [row("hcf", predicted_s=1.5 * factor, simulated_s=factor)])
    return suite


def test_two_suites_are_compared_where_they_have_the_same_predictions(desk, row):
    first, second = queued(desk.queue, [2, 4, 8], row), queued(desk.queue, [4, 8, 16], row, factor=2.0)
    found = compared(desk.queue.tables, first, second)
    assert (len(found.pairs), found.only_first, found.only_second) == (2, 1, 1)
    assert found.mean_change_pct == 100.0 and found.predictors == [("hcf", 2, 50.0, 50.0)]
    assert {pair.case["ranks"] for pair in found.ordered("change_pct")} == {4, 8}


def test_what_differs_between_two_suites_as_a_whole_does_not_part_their_predictions(desk, row):
    first, second = queued(desk.queue, [2, 4], row), queued(desk.queue, [2, 4], row, "infiniband", 0.5)
    found = compared(desk.queue.tables, first, second)
    assert found.differing == (("network", "gigabit", "infiniband"),)
    assert len(found.pairs) == 2 and found.mean_change_pct == -50.0


def test_axes_hold_all_values_with_round_ticks():
    axis = number_axis("time, s", [0.3, 9.7], may_log=False, zero=True)
    assert [text for _, text in axis.ticks] == ["0", "2", "4", "6", "8", "10"]
    wide = number_axis("time, s", [0.02, 300.0])
    assert wide.logarithmic and {text for _, text in wide.ticks} >= {"0.1", "1", "10", "100"}
    assert wide.share(wide.low) == 0 and wide.share(wide.high) == pytest.approx(1)
    assert [text for _, text in count_axis("ranks", [2, 4, 8, 12800]).ticks] == ["2", "4", "8", "12,800"]
    assert number_axis("x", [5.0]).share(5.0) == 0.5
    assert number_axis("x", [0.0]).share(0.0) == 0.5
    assert len(name_axis("platform", [f"grid{number}" for number in range(100)]).ticks) <= 12


def test_a_plot_holds_names_as_text_and_leads_to_results():
    curve = Curve("<b>", Style(0, 0), [Mark(1, 1, "<script>", 1), Mark(2, 2, "b", 2)])
    drawn_plot = plot(Drawing("<i>", number_axis("x", [1, 2]), number_axis("y", [1, 2]), [curve]))
    assert "<script>" not in drawn_plot and "<i>" not in drawn_plot and 'href="/results/2"' in drawn_plot
    assert not re.search(r"\sstyle=|\son\w+=", drawn_plot)


@pytest.fixture
def suites(desk, row):
    return queued(desk.queue, [2, 4, 8], row), queued(desk.queue, [2, 4, 8], row, "infiniband", 0.5)


def test_a_figure_is_chosen_by_its_address(client, suites):
    text = client.get("/results/figure?suite=1&show=speedup&over=ranks").text
    assert "<h1>Speed-up over ranks, suite s</h1>" in text and "the run on 2 ranks" in text
    assert text.count('<a href="/results/') >= 6 and 'aria-current="true">speed-up' in text
    both = client.get("/results/figure?suite=1&other=2&over=network&show=time").text
    assert "infiniband" in both and "and s</h1>" in both
    assert "give no watts" in client.get("/results/figure?show=energy").text


def test_the_front_page_says_why_there_is_none(client, suites):
    assert "give no watts" in client.get("/results/front").text


def test_the_front_page_lists_the_front(client, desk, row, cases):
    desk.queue.add("e", "Ann", cases(2))
    first, second = desk.queue.take(2).runs.values()
    desk.queue.finish(first, [row(simulated_s=1.0, energy_simulated_j=50.0, energy_predicted_j=40.0)])
    desk.queue.finish(second, [row(simulated_s=2.0, energy_simulated_j=80.0, energy_predicted_j=90.0)])
    text = client.get("/results/front?suite=1").text.partition("Rows of the figure")[0]
    assert "simulated: 1 of 2 on the front" in text
    assert '<td class="number">50</td>' in text and '<td class="number">80</td>' not in text


def test_the_comparison_page_tells_what_is_compared(client, suites):
    text = client.get("/results/compare?first=1&second=2").text
    assert "3 predictions are in both" in text and "network gigabit in the first and infiniband in the second" in text
    assert "-50.00" in text
    assert "needs two suites" not in client.get("/results/compare").text


def test_pages_without_results_say_what_to_do_first(client):
    for path, said in (
        ("figure", "Put a suite together"),
        ("front", "no results yet"),
        ("compare", "needs two suites"),
    ):
        assert said in client.get(f"/results/{path}").text


@pytest.mark.parametrize(
    "path",
    ["figure?show=beauty", "figure?over=colour", "figure?suite=x", "figure?other=-1", "compare?first=1&second=99",
     "compare?first=1&second=2&sort=x", "compare?first=1&second=2&page=0", "figure?sort=;drop"],
)  # fmt: skip
def test_wrong_addresses_of_figures_are_told(client, suites, path):
    assert client.get(f"/results/{path}").status_code == 400
