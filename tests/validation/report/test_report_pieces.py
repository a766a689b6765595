"""Parts of a report page: several pictures in one page, shell words, and limits."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from lxml import etree
from matplotlib.figure import Figure

from apps.timelines.timeline import Timeline
from platforms.command.values import parsed, request_of
from platforms.grids.scenario import named_grid
from platforms.plotting.styles import style_of
from platforms.read.read import materialise, read_platform
from validation.options import asked_platforms
from validation.presentation.dots import error_text
from validation.presentation.plots import overview_figure, results_figure, write_figures
from validation.report import tables
from validation.report.answers import coverage_table, interval_cell, range_cell
from validation.report.errors import cautions
from validation.report.figures.errors import distribution_figure, scatter_figure, share_figure
from validation.report.figures.parts import COMMUNICATION, COMPUTATION, Bar, Group, parts_figure, parts_of
from validation.report.option import platform_words
from validation.report.pictures import times_pictures
from validation.report.runs import host_words, platform_file
from validation.report.svg import inline_svg
from validation.report.timelines.intervals import timeline_json
from validation.report.timelines.timelines import timeline_figure
from validation.run import COMMAND, RunRequest

SVG = "{http://www.w3.org/2000/svg}"


def a_figure(word="seconds"):
    figure = Figure(figsize=(3, 2))
    axes = figure.add_subplot()
    axes.plot([1, 2, 3], [1, 4, 9], "o--", color="#D55E00", label=word)
    axes.set_xlabel(word, parse_math=False)
    axes.grid(color="0.9")
    axes.legend()
    return figure


def test_an_interval_tells_its_ends_whether_it_was_missed_and_why_there_is_none():
    row = {"interval_low_s": 1.5, "interval_high_s": 20.25, "in_interval": True, "simulated_s": 9.0}
    assert (interval_cell(row, None).text, interval_cell(row, None).order) == ("1.5 to 21 s", 1.5)
    missed = interval_cell({**row, "in_interval": False}, None)
    assert (missed.text, missed.mark) == ("1.5 to 21 s, missed", "outside")
    none = interval_cell({**row, "interval_low_s": None}, "several ranks on a node")
    assert (none.text, none.note) == (tables.NOTHING, "several ranks on a node")
    expected = range_cell({"range_low_pct": -5.0, "range_high_pct": 250.0, "in_range": True})
    assert expected.text == "\N{MINUS SIGN}5 to +250"


def test_the_table_of_intervals_counts_the_true_times_inside():
    columns = {"predictor": ["p"] * 3 + ["q"], "predicted_s": 2.0, "simulated_s": [1.0, 2.0, 5.0, 1.0]}
    results = pd.DataFrame({**columns, "interval_low_s": [1.0, 1.0, 1.0, np.nan], "interval_high_s": 3.0})
    made = coverage_table(results)
    assert [cell.text for cell in made.rows[0]] == ["p", "2 of 3", "67", "9 to 99", "0", "1", "100"]
    assert len(made.rows) == 1
    assert coverage_table(results[results["predictor"] == "q"]) is None


def test_names_of_many_cases_do_not_run_into_each_other():
    names = [f"platform_of_the_institute_{number}" for number in range(12)]
    results = pd.DataFrame({
        "app": "ep", "class": "S", "scenario": names, "network": None, "ranks": 8, "mapping": "block", "clusters": "c",
        "efficiency": 1.0, "predictor": "hcf", "predicted_s": 2.0, "simulated_s": 1.0, "truth": "simulation",
    })  # fmt: skip
    apart = pd.concat([results, results.assign(app="cg")])
    for figure in (results_figure(results, "ep"), overview_figure(apart)):
        figure.draw_without_rendering()
        for axes in figure.axes:
            slanted = axes.get_xticklabels()
            assert [text.get_text() for text in slanted] == [f"{name}, 8 ranks" for name in names]
            lines_in = np.diff([text.get_window_extent().x1 for text in slanted]) / figure.dpi
            height_in = 9 * 1.4 / 72  # of a line of 9 points
            assert (lines_in * math.sin(math.radians(slanted[0].get_rotation())) > height_in).all()
            assert axes.get_position().height * figure.get_figheight() > 2  # the curves keep their room


def test_two_pictures_share_no_names():
    first, second = (etree.fromstring(inline_svg(a_figure(), name, title="t")) for name in ("a", "b"))
    ids = [{element.get("id") for element in svg.iter() if element.get("id")} for svg in (first, second)]
    assert ids[0] and not ids[0] & ids[1]
    assert set(re.findall(r"url\(#([^)]*)\)|href=\"#([^\"]*)\"", etree.tostring(first).decode()))  # and use them
    for one, own in zip((first, second), ids, strict=True):
        text = etree.tostring(one).decode()
        used = re.findall(r"url\(#([^)]*)\)", text) + re.findall(r'href="#([^"]*)"', text)
        assert set(used) <= own


def test_the_same_picture_gives_the_same_text():
    assert inline_svg(a_figure(), "a", title="t") == inline_svg(a_figure(), "a", title="t")


def test_text_stays_text_and_marks_stay_words():
    svg = inline_svg(a_figure("a <b> & $x$"), "a", title="<i>")
    root = etree.fromstring(svg)
    assert "a <b> & $x$" in {element.text for element in root.iter(f"{SVG}text")}
    assert root.find(f"{SVG}title").text == "<i>"


def test_colours_are_left_to_the_page_where_it_is_asked():
    themed, plain = (inline_svg(a_figure(), "a", title="t", themed=one) for one in (True, False))
    assert "var(--c-d55e00, #d55e00)" in themed and "var(--faint, #e6e6e6)" in themed and "#000000" not in themed
    assert "var(" not in plain and "#d55e00" in plain


def a_page_of(count, *, app="cg", predictors=("p", "q")):
    """Results of several cases; p is 5 % too high, q is 50 % too low or, in every other case, has no answer."""
    rows = []
    for case in range(count):
        truth_s = 1.0 + case
        for name in predictors:
            error_pct = 5.0 if name == "p" else -50.0 if case % 2 == 0 else np.nan
            rows.append({
                "scenario": f"s{case}", "network": "n", "class": "S", "ranks": 8, "mapping": "block", "clusters": "c",
                "efficiency": 1.0, "app": app, "predictor": name, "predicted_s": truth_s * (1 + error_pct / 100),
                "simulated_s": truth_s, "error_pct": error_pct, "abs_error_pct": abs(error_pct), "flags": "",
                "compute_share": 0.5, "truth": "simulation",
            })  # fmt: skip
    return pd.DataFrame(rows)


def test_bands_lie_where_predictions_are_off_by_so_much():
    axes = scatter_figure(a_page_of(3), "cg").axes[0]
    slopes = set()
    for band in axes.collections:
        corners = band.get_paths()[0].vertices
        slopes |= set(np.round(corners[:, 1] / corners[:, 0], 6))
    assert {0.9, 0.95, 1.05, 1.1} <= slopes
    (points,) = [line for line in axes.lines if line.get_label() == "p"]
    np.testing.assert_allclose(points.get_ydata() / points.get_xdata(), 1.05)


def test_cautious_predictions_are_hollow():
    results = a_page_of(2, predictors=("p",))
    results.loc[0, "flags"] = "compute share 1 %"
    faces = [
        line.get_markerfacecolor() for line in share_figure(results, "cg").axes[0].lines if line.get_marker() == "s"
    ]
    assert sorted(faces) == ["#D55E00", "none"]


def test_the_least_error_that_is_drawn_stands_for_smaller_ones():
    results = a_page_of(2, predictors=("p",))
    results["abs_error_pct"] = [0.0, 5.0]
    of_shares, of_limits = share_figure(results, "cg").axes[0].yaxis, distribution_figure(results, "cg").axes[0].xaxis
    for axis in (of_shares, of_limits):
        shown = axis.get_major_formatter()
        assert (shown(1e-3, 0), shown(1e-2, 1)) == ("≤ 0.001", "0.01")


def test_a_distribution_counts_cases_without_an_answer():
    # By hand: q answers two of four cases, so its curve ends at half of the cases.
    lines = {line.get_label(): line for line in distribution_figure(a_page_of(4), "cg").axes[0].lines}
    assert max(lines["q"].get_ydata()) == 50 and max(lines["p"].get_ydata()) == 100


def test_cases_that_differ_in_their_mapping_alone_stand_apart():
    results = pd.concat([a_page_of(1), a_page_of(1).assign(mapping="cyclic")], ignore_index=True)
    labels = [label.get_text() for label in results_figure(results, "cg").axes[0].get_xticklabels()]
    assert labels == ["s0\n8 ranks\nblock", "s0\n8 ranks\ncyclic"]


def test_many_cases_are_drawn_network_by_network_and_too_many_as_a_distribution():
    by_network = pd.concat([a_page_of(6).assign(network=name) for name in ("gigabit", "metro")], ignore_index=True)
    assert [one.name for one in times_pictures(by_network, energy=False)] == ["times-0-0", "times-0-1"]
    assert "cg, metro: execution time" in list(times_pictures(by_network, energy=False))[1].caption
    assert [one.name for one in times_pictures(a_page_of(40), energy=False)] == ["errors-0"]


def test_the_first_fourteen_predictors_differ_in_marker_and_colour():
    assert len({style_of(number)[:2] for number in range(14)}) == 14
    assert len({style_of(number)[1] for number in range(14)}) == 14


def test_bars_are_relative_to_the_truth_and_cut_where_they_are_too_long():
    truth = Bar("simulated", 2.0, {COMPUTATION: 0.5, COMMUNICATION: 1.5}, truth=True)
    group = Group("g", [truth, Bar("p", 3.0, {COMPUTATION: 1.0, COMMUNICATION: 2.0}), Bar("far", 200.0, {})])
    axes = parts_figure([group]).axes[0]
    ends = sorted({round(bar.get_x() + bar.get_width(), 6) for bar in axes.patches})
    assert ends == [0.25, 0.5, 1.0, 1.5, 3.0]  # by hand; 200 s would be 100 times the truth
    assert "200 s, 100\N{MULTIPLICATION SIGN}" in {text.get_text() for text in axes.texts}


def test_parts_that_name_no_computation_are_not_told_apart():
    assert parts_of(3.0, {"T_N_s": 1.0}) == {}
    assert parts_of(3.0, {"compute_s": 1.0, "comm_s": 2.0}) == {COMPUTATION: 1.0, COMMUNICATION: 2.0}


def test_a_timeline_of_thousands_of_ranks_is_an_image_of_bounded_size():
    ranks, clock_s = 3000, np.array([0.0, 0.4, 1.0])
    timeline = Timeline(
        iteration=4, simulated=5, clock_s=(clock_s,) * ranks, activity=(np.array([0, 1, -1]),) * ranks,
        begin_s=np.zeros(ranks), end_s=np.ones(ranks),
    )  # fmt: skip
    svg = inline_svg(timeline_figure(timeline, ["c1"] * 1500 + ["c2"] * 1500), "g", title="t")
    assert len(svg) < 60_000 and "c2" in svg


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        (["n-0.s", "n-1.s", "n-2.s", "n-0.t"], "n-{0..2}.s n-0.t"),
        (["b2", "b1", "b0"], "b2 b1 b0"),
        (["h08", "h09", "h10", "h11", "h12"], "h08 h09 h{10..12}"),  # a brace expansion would drop the zero
        (["a b", "x{1,2}", "$HOME", "it's"], "'a b' 'x{1,2}' '$HOME' 'it'\"'\"'s'"),
        (["a b1", "a b2", "a b3"], "'a b'{1..3}"),
        (["n1", "n1", "n1"], "n1 n1 n1"),  # three ranks on one host
    ],
)
def test_hosts_are_words_that_a_shell_takes_apart_again(hosts, words):
    assert host_words(hosts) == words
    said = subprocess.run(["bash", "-c", f"printf '%s\\n' {words}"], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == hosts


def test_a_generated_platform_is_named_by_the_command_that_writes_it():
    platform = materialise(named_grid("grid3x9", "metro"))
    found = platform_file(platform, ("--scenario", "grid3x9", "--network", "metro"))
    assert found.name == "grid3x9-metro.xml" and found.sha256 == platform.content_hash
    assert found.command.startswith("gridval platform make --scenario grid3x9 --network metro --output")
    wrong = platform_file(platform, ("--scenario", "grid3x9", "--network", "gigabit"))
    assert wrong.command is None and wrong.name == str(platform.path)


@pytest.mark.parametrize(
    "arguments", ["--scenario grid2x3 --speeds 10,20", "--scenario grid4x2 --frequency min", "--scenario own.toml"]
)
def test_a_platform_that_options_describe_is_generated_by_the_same(arguments, tmp_path):
    words = arguments.split()
    if words[1].endswith(".toml"):
        words[1] = str(Path(__file__).parents[3] / "examples" / "two-sites.toml")
    request = parsed(RunRequest, COMMAND.parser(), words)
    (platform,) = asked_platforms(request)
    found = platform_file(platform, platform_words(request))
    assert found.command is not None and found.command.startswith("gridval ")
    subprocess.run([sys.executable, "-m", *found.command.split()], cwd=tmp_path, check=True)
    assert (tmp_path / found.name).read_bytes() == platform.path.read_bytes()


def test_a_platform_of_the_user_keeps_its_path(tmp_path):
    path = tmp_path / "my site.xml"
    path.write_bytes(Path(materialise(named_grid("grid4x2")).path).read_bytes())
    found = platform_file(read_platform(path), ())
    assert (found.name, found.label, found.command) == (str(path), "my_site.xml", None)


def test_cautions_that_differ_in_their_numbers_are_one_kind():
    rows = [
        {"flags": "compute share 1 %: outside HCF's regime", "predictor": "hcf"},
        {"flags": "compute share 12.5 %: outside HCF's regime; other", "predictor": "hcf:printed"},
        {"flags": "", "predictor": "hcf"},
    ]
    notes = [SimpleNamespace(refusal=None)] * 3
    kinds = cautions(SimpleNamespace(rows=rows, notes=notes))
    assert [(one.number, one.count, one.predictor_names) for one in kinds] == [
        (1, 2, "hcf, hcf:printed"),
        (2, 1, "hcf:printed"),
    ]


def test_long_tables_end_and_say_so():
    made = tables.table("t", "c", tables.words("a"), [[str(row)] for row in range(tables.MOST_ROWS + 7)])
    assert len(made.rows) == tables.MOST_ROWS and made.left_out == 7


@pytest.mark.parametrize(
    ("value", "text"), [(None, "\N{EN DASH}"), (float("nan"), "\N{EN DASH}"), (-1.25, "\N{MINUS SIGN}1.25"), (0.0, "0")]
)
def test_numbers_are_written_alike(value, text):
    assert tables.number(value).text == text


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [(-0.004, "{:+.2f}", "0.00"), (0.004, "{:+.2f}", "0.00"), (0.006, "{:+.2f}", "+0.01"),
     (-2e-7, "{:.2g}", "\N{MINUS SIGN}2e\N{MINUS SIGN}07")],
)  # fmt: skip
def test_what_rounds_to_zero_has_no_sign(value, form, text):
    assert tables.number_text(value, form) == text
    assert tables.interval(value, value, form).text == f"{text} to {text}"


def test_who_answers_nothing_has_no_line_and_one_cluster_no_name():
    results = a_page_of(2)
    results.loc[results["predictor"] == "q", ["predicted_s", "error_pct", "abs_error_pct"]] = np.nan
    assert "q" not in {line.get_label() for line in distribution_figure(results, "cg").axes[0].lines}
    timeline = Timeline(None, 1, (np.array([0.0, 1.0]),) * 2, (np.array([0, -1]),) * 2, np.zeros(2), np.ones(2))
    assert not timeline_figure(timeline, ["c1", "c1"]).axes[0].child_axes  # the names of clusters would be there


def test_hardware_files_are_among_the_words_of_a_platform():
    request = request_of(RunRequest, {"scenario": "own.toml", "hardware": ["cpus.toml"]})
    assert platform_words(request) == ("--scenario", "own.toml", "--hardware", "cpus.toml")


def test_a_single_target_is_a_dot_plot_with_the_closest_first_and_no_one_who_has_no_answer():
    results = pd.concat([a_page_of(1, predictors=(name,)) for name in "pqrst"], ignore_index=True)
    results["predicted_s"] = [1.5, 0.99, np.nan, 3.0, 1.0]  # of 1 s
    (axes,) = results_figure(results, "cg").axes
    # By hand: off by 0, 1, 50 and 200 %.
    assert [label.get_text() for label in axes.get_yticklabels()] == ["t", "q", "p", "s"]
    texts = [text.get_text() for text in axes.texts]
    assert texts[0] == "simulated 1 s"
    assert texts[1:] == ["1 s, <0.01 %", "0.99 s, \N{MINUS SIGN}1.0 %", "1.5 s, +50.0 %", "3 s, +200 %"]
    dots = {line.get_label(): line.get_xdata()[0] for line in axes.lines if not line.get_label().startswith("_")}
    assert dots == {"t": 1.0, "q": 0.99, "p": 1.5, "s": 3.0}
    colors = {line.get_label(): line.get_color() for line in axes.lines}
    assert colors["s"] == style_of(3)[0]  # that of its place among all predictors


@pytest.mark.parametrize(
    ("value", "text"), [(1.00005, "<0.01 %"), (1.004, "+0.40 %"), (0.5, "-50.0 %"), (20, "+1,900 %")]
)
def test_errors_at_the_points_have_few_digits(value, text):
    assert error_text(value, 1.0) == text


def test_a_legend_names_those_who_answer_in_the_styles_of_all_figures():
    results = a_page_of(3, predictors=("x", "p", "q"))
    results.loc[results["predictor"] == "x", "predicted_s"] = np.nan
    figure = results_figure(results, "cg")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["simulated", "p", "q"]
    (line,) = [line for line in figure.axes[0].lines if line.get_label() == "p"]
    assert line.get_color() == style_of(1)[0]


def test_several_programs_are_small_multiples_with_one_legend(tmp_path):
    results = pd.concat([a_page_of(6, app=app) for app in ("cg", "mg", "lu")], ignore_index=True)
    figure = overview_figure(results)
    assert [axes.get_title("left") for axes in figure.axes] == ["CG class S, n", "MG class S, n", "LU class S, n"]
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["simulated", "p", "q"]
    written = {path.name for path in write_figures(results, tmp_path) if path.suffix == ".png"}
    assert written == {"times.png", "times-cg.png", "times-mg.png", "times-lu.png"}
    assert {path.name for path in write_figures(a_page_of(6), tmp_path)} == {"times-cg.png", "times-cg.svg"}


def exact(timeline):
    return json.loads(timeline_json(timeline, ["h0", "h1"], ["c", "c"]))


def test_a_timelines_data_are_its_activities():
    # By hand: computation, 2 s of messages, computation; the second rank is 1 s in a collective, then idle.
    timeline = Timeline(
        iteration=None, simulated=1, clock_s=(np.array([0.0, 1.0, 3.0, 4.0]), np.array([0.0, 1.0])),
        activity=(np.array([0, 1, 0, -1]), np.array([2, -1])), begin_s=np.zeros(2), end_s=np.array([4.0, 1.0]),
    )  # fmt: skip
    data = exact(timeline)
    first, second = data["rows"]
    assert first["name"] == "rank 0 on h0" and data["span"] * data["tick_s"] == pytest.approx(4)
    assert [lasts * data["tick_s"] for lasts in first["lasts"]] == pytest.approx([1, 2, 1])
    assert [data["mixes"][mix] for mix in first["mix"]] == [[100, 0, 0], [0, 100, 0], [100, 0, 0]]
    assert [data["mixes"][mix] for mix in second["mix"]] == [[0, 0, 100]]
    assert [one * data["tick_s"] for one in second["own"]] == pytest.approx([0, 1])


def test_more_activities_than_a_page_can_hold_are_aggregated_and_no_time_is_lost(monkeypatch):
    monkeypatch.setattr("validation.report.timelines.intervals.MOST_INTERVALS", 64)
    # 500 times 1 ms of computation and 3 ms of messages; then 1 s of computation, which stays an activity of its own.
    clock_s = np.append(np.cumsum(np.tile([0.003, 0.001], 500)) - 0.003, [2.0, 3.0])
    activity = np.append(np.tile([0, 1], 500), [0, -1])
    timeline = Timeline(None, 1, (clock_s, clock_s), (activity, activity), np.zeros(2), np.full(2, 3.0))
    data = exact(timeline)
    for row in data["rows"]:
        assert len(row["lasts"]) <= 32
        mixes = np.array([data["mixes"][mix] for mix in row["mix"]])
        spent_s = (mixes / 100 * np.array(row["lasts"])[:, None]).sum(axis=0) * data["tick_s"]
        np.testing.assert_allclose(spent_s, [1.5, 1.5, 0], atol=0.015)  # shares are rounded to 1 %
        assert list(mixes[-1]) == [100, 0, 0] and row["lasts"][-1] * data["tick_s"] == pytest.approx(1)


def test_ranks_that_share_a_row_have_their_mean():
    ranks = 480
    clocks_s, computes, waits = np.array([0.0, 1.0]), np.array([0, -1]), np.array([1, -1])
    timeline = Timeline(
        None, 1, (clocks_s,) * ranks, (computes, waits) * (ranks // 2), np.zeros(ranks), np.ones(ranks)
    )  # fmt: skip
    text = timeline_json(timeline, ["h"] * ranks, ["c</script>"] * ranks)
    data = json.loads(text)
    assert len(data["rows"]) == 240 and data["rows"][1]["name"] == "ranks 2 to 3" and data["mixes"] == [[50, 50, 0]]
    assert "<" not in text and len(text) < 150_000
