"""Figures of a campaign of choices: which figures are drawn, and that they show the data."""

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from validation.nodes.output import AllocationRow
from validation.nodes.plots import write_figures
from validation.nodes.plots.axes import signed_time_axis
from validation.nodes.plots.choices import choice_figure, delta_figure, fewer_sizes_figure, fits_figure, static_figure
from validation.nodes.plots.models import models_figure

LS, NNLS = "NP-T/LS", "NP-T/NNLS"
ALWAYS = "always (4,1,0,0,0,0)"
SIZES = (32, 64, 128)


def row(model=NNLS, size=32, *, app="himeno", epsilon=0.0, delta=None, noise=0.0, seed=0, chosen="(2,1)"):
    """Rows whose optimum takes N / 32 seconds; columns that are not given are empty."""
    optimum_s = size / 32
    known = {
        **{"app": app, "size": size, "model": model, "noise": noise, "seed": seed, "chosen": chosen},
        **{"simulated_s": None if epsilon is None else (1 + epsilon) * optimum_s, "optimum_s": optimum_s},
        **{"epsilon": epsilon, "delta": delta, "flags": ""},
    }
    return {field.name: known.get(field.name) for field in fields(AllocationRow)}


def line(axes, label):
    """x and y of the line with this label."""
    (found,) = [one for one in axes.lines if one.get_label() == label]
    return found.get_xdata().tolist(), found.get_ydata().tolist()


def labels(axes):
    return {one.get_label() for one in axes.lines if not one.get_label().startswith("_")}


def band(axes):
    """Least and most of the only band, at its left end."""
    (found,) = axes.collections
    corners = found.get_paths()[0].vertices
    left = corners[corners[:, 0] == corners[:, 0].min(), 1]
    return left.min(), left.max()


@pytest.fixture
def measurements():
    """Times by T = N^3 / P us + 10 us N^2, which NP-T models can express; one time of seed 2 is 1.5 times as long.

    The work is such that the performance is 1 Gflop/s, except for that run.
    """
    runs = []
    for seed in (1, 2):
        for pes in (1, 2, 3, 4):
            for size in (32, 48, 64, 80, 96, 112, 128, 160, 192):
                time_s = law_s(size, pes)
                glitch = 1.5 if (seed, pes, size) == (2, 3, 96) else 1
                runs.append(("himeno", 0.02, seed, size, f"({pes},1)", glitch * time_s, 1e9 * time_s))
    return pd.DataFrame(runs, columns=["app", "noise", "seed", "size", "configuration", "time_s", "work_flops"])


def law_s(size, ranks):
    return 1e-6 * size**3 / ranks + 1e-5 * size**2


@pytest.fixture
def noisy():
    """NP-T/LS and NP-T/NNLS with noise; the worst choice of LS is that of seed 2 at N = 256."""
    epsilons = {(LS, 1): (0.1, 0.2), (LS, 2): (0.3, 5.0), (NNLS, 1): (0.0, 0.0), (NNLS, 2): (0.1, 0.0)}
    return pd.DataFrame(
        row(model, size, epsilon=epsilon, delta=epsilon / 10, noise=0.02, seed=seed)
        for (model, seed), both in epsilons.items()
        for size, epsilon in zip((32, 256), both, strict=True)
    )


def test_all_figures_are_written_as_png(tmp_path, noisy, measurements):
    more = [row(size=size, delta=0.1) for size in SIZES]
    more += [row(ALWAYS, size, epsilon=0.5) for size in SIZES]
    more += [row(f"{NNLS}, N to 112", size, epsilon=0.1) for size in SIZES]
    written = write_figures(pd.concat([noisy, pd.DataFrame(more)]), measurements, tmp_path)
    names = {f"{name}-himeno.png" for name in ("choice", "fits", "fewer-sizes", "static", "models")} | {"delta.png"}
    assert {path.name for path in written} == names == {path.name for path in tmp_path.iterdir()}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


@pytest.fixture
def names_of(tmp_path, monkeypatch):
    """The names of the figures of some rows, without drawing them."""
    from matplotlib.figure import Figure

    monkeypatch.setattr(Figure, "savefig", lambda *_, **__: None)

    def names(rows, measurements=None):
        measurements = pd.DataFrame() if measurements is None else measurements
        return [path.stem for path in write_figures(pd.DataFrame(rows), measurements, tmp_path)]

    return names


def test_models_without_noise_give_one_figure_per_program(names_of):
    assert names_of([row("P-T/LS"), row("P-T/LS", app="hpl")]) == ["choice-himeno", "choice-hpl"]


def test_delta_needs_estimates_by_nnls(names_of):
    assert names_of([row(delta=0.1)]) == ["choice-himeno", "delta"]
    assert names_of([row(LS, delta=0.1)]) == ["choice-himeno"]


def test_static_allocations_alone_give_their_figure(names_of):
    assert names_of([row(ALWAYS)]) == ["static-himeno"]


def test_one_kind_of_fit_is_no_comparison(names_of):
    assert names_of([row(LS, noise=0.02, seed=1)]) == []


def test_an_interrupted_campaign_has_no_measurements_and_no_models(names_of, noisy, measurements):
    assert names_of(noisy) == ["fits-himeno", "delta"]
    assert names_of(noisy, measurements) == ["fits-himeno", "models-himeno", "delta"]


def test_choices_show_times_beside_the_optimum_and_epsilon():
    rows = [row(size=size, epsilon=0.25) for size in SIZES] + [row("dpgraph", size, epsilon=0.5) for size in SIZES]
    left, right = choice_figure(pd.DataFrame(rows)).axes
    assert line(left, "optimum") == ([32, 64, 128], [1, 2, 4])
    assert line(left, NNLS) == ([32, 64, 128], [1.25, 2.5, 5])
    assert line(right, NNLS) == ([32, 64, 128], [0.25, 0.25, 0.25])
    assert line(right, "dpgraph")[1] == [0.5, 0.5, 0.5]


def test_choices_leave_noise_static_allocations_and_fewer_sizes_to_other_figures():
    rows = [row(), row(LS, noise=0.02, seed=1), row(ALWAYS), row(f"{NNLS}, N to 112")]
    left, right = choice_figure(pd.DataFrame(rows)).axes
    assert labels(left) == {NNLS, "optimum"}
    assert labels(right) == {NNLS}


def test_a_size_without_answer_is_a_gap_that_is_said():
    rows = [row(size=32), row(size=64, epsilon=None, chosen=None), row(size=128)]
    _, right = choice_figure(pd.DataFrame(rows)).axes
    assert np.isnan(line(right, f"{NNLS} (no answer at N = 64)")[1]).tolist() == [False, True, False]


@pytest.mark.filterwarnings("error")
def test_no_answer_at_all_draws_the_optimum():
    left, right = choice_figure(pd.DataFrame([row(size=size, epsilon=None, chosen=None) for size in SIZES])).axes
    assert labels(left) == {"optimum"}
    assert labels(right) == set()
    fewer = pd.DataFrame([row(f"{NNLS}, N to 112", size, epsilon=None, chosen=None) for size in SIZES])
    assert labels(fewer_sizes_figure(fewer).axes[0]) == set()


def test_epsilon_is_linear_until_it_explodes_and_says_so():
    _, right = choice_figure(pd.DataFrame([row(size=size, epsilon=0.9) for size in SIZES])).axes
    assert right.get_yscale() == "linear"
    _, right = choice_figure(pd.DataFrame([row(size=size, epsilon=size) for size in SIZES])).axes
    assert right.get_yscale() == "symlog"
    assert "(linear to 10 %)" in right.get_ylabel()
    bottom, top = right.get_ylim()
    assert bottom < 0
    assert top > 128


def test_sizes_over_decades_are_logarithmic():
    left, _ = choice_figure(pd.DataFrame([row(size=2**power, app="fft") for power in (16, 18, 23)])).axes
    assert left.get_xscale() == "log"


def test_fits_show_the_mean_over_the_seeds_and_its_spread(noisy):
    left, right = fits_figure(noisy[noisy["model"].isin([LS, NNLS])]).axes
    # By hand from the fixture: N = 32 takes 1 s, N = 256 takes 8 s.
    assert line(left, LS) == ([32, 256], pytest.approx([1.2, 8 * 3.6]))
    assert line(right, LS) == ([32, 256], pytest.approx([0.2, 2.6]))
    assert line(right, NNLS) == ([32, 256], pytest.approx([0.05, 0.0]))
    only = noisy[(noisy["model"] == LS) | ((noisy["model"] == NNLS) & (noisy["seed"] == 1))]
    assert band(fits_figure(only).axes[1]) == pytest.approx((0.1, 0.3))
    assert "mean of 2 seeds" in right.get_title()


def test_fits_have_a_row_of_panels_for_each_noise(noisy):
    figure = fits_figure(pd.concat([noisy, noisy.assign(noise=0.05), noisy.assign(noise=0.0)]))
    assert [axes.get_title() for axes in figure.axes[::2]] == ["noise 2 %", "noise 5 %"]


def test_static_allocations_stand_beside_nnls_and_break_where_they_do_not_fit():
    rows = [row(size=size) for size in SIZES] + [row(LS), row(ALWAYS, 32, epsilon=0.5), row(ALWAYS, 128, epsilon=1.0)]
    left, right = static_figure(pd.DataFrame(rows)).axes
    assert labels(left) == {NNLS, ALWAYS, "optimum"}
    assert line(left, ALWAYS) == ([32, 64, 128], pytest.approx([1.5, np.nan, 8.0], nan_ok=True))
    assert line(right, ALWAYS)[1] == pytest.approx([0.5, np.nan, 1.0], nan_ok=True)


def test_fewer_sizes_have_p_t_on_the_left_and_np_t_on_the_right():
    epsilons = {"NP-T/NNLS": 0.1, "NP-T/NNLS, N to 112": 0.2, "P-T/LS": 0.3, "P-T/LS, N to 112": 0.4, "N-T/LS": 0.5}
    rows = [row(model, size, epsilon=epsilon) for model, epsilon in epsilons.items() for size in SIZES]
    left, right = fewer_sizes_figure(pd.DataFrame(rows)).axes
    assert (left.get_title(), right.get_title()) == ("P-T/LS", "NP-T/NNLS")
    assert line(left, "models of all sizes") == ([32, 64, 128], [0.3] * 3)
    assert line(left, "of N to 112")[1] == [0.4] * 3
    assert line(right, "models of all sizes")[1] == [0.1] * 3
    assert line(right, "of N to 112")[1] == [0.2] * 3


def test_delta_has_a_panel_per_program_with_the_acceptable_band():
    rows = [row(size=size, delta=-0.1) for size in SIZES]
    rows += [row(app="hpl", size=1600, delta=delta, noise=0.02, seed=seed) for seed, delta in ((1, 0.2), (2, 0.4))]
    himeno, hpl = delta_figure(pd.DataFrame(rows)).axes
    assert (himeno.get_title(), hpl.get_title()) == ("himeno", "hpl")
    assert line(himeno, "without noise") == ([32, 64, 128], [-0.1] * 3)
    (label,) = labels(hpl)
    assert label.startswith("noise 2 %, mean of 2 seeds")
    assert line(hpl, label) == ([1600], pytest.approx([0.3]))
    (shaded,) = himeno.patches
    assert (shaded.get_y(), shaded.get_height()) == pytest.approx((-0.2, 0.4))


def test_models_show_the_worst_seed_with_its_glitch(noisy, measurements):
    performance, ls, nnls = models_figure(noisy, measurements).axes
    seed_2 = measurements[(measurements["seed"] == 2) & (measurements["configuration"] == "(3,1)")]
    assert line(ls, "P = 3") == (seed_2["size"].tolist(), seed_2["time_s"].tolist())
    assert line(performance, "P = 2")[1] == pytest.approx([1e9] * 9)
    crosses = "glitch, which k = 0.9 would leave out"
    assert line(performance, crosses) == ([96], pytest.approx([1e9 / 1.5]))
    assert line(nnls, crosses) == ([96], pytest.approx([1.5 * law_s(96, 3)]))


def test_curves_are_the_fitted_models_up_to_the_largest_size(noisy, measurements):
    # Without the glitch both fits find the law itself, of one PE by the N-T model and of several by the NP-T model.
    law = measurements.assign(time_s=measurements["work_flops"] / 1e9)
    figure = models_figure(noisy, law)
    for axes in figure.axes[1:]:
        curves = [one for one in axes.lines if len(one.get_xdata()) > 9]
        for curve, ranks in zip(curves, (1, 2, 3, 4), strict=True):
            x = curve.get_xdata()
            assert (x[0], x[-1]) == (32, 256)
            assert curve.get_ydata() == pytest.approx(law_s(x, ranks), rel=1e-5)
    assert line(figure.axes[1], "time of its worst choice by LS") == ([256], pytest.approx([law_s(256, 2)]))
    assert "chose (2,1) at N = 256" in figure.get_suptitle()


def test_times_that_are_not_positive_stay_on_the_axis(noisy, measurements):
    # The time at the largest N of one PE is 20 times too long, so the cubic by LS is negative at smaller N.
    last = (measurements["configuration"] == "(1,1)") & (measurements["size"] == 192)
    wrecked = measurements.assign(time_s=measurements["time_s"] * np.where(last, 20, 1))
    _, ls, nnls = models_figure(noisy.assign(chosen="(1,1)"), wrecked).axes
    drawn = np.concatenate([one.get_ydata() for one in ls.lines])
    assert drawn.min() < 0
    assert ls.get_yscale() == nnls.get_yscale() == "symlog"
    assert "(linear to" in ls.get_ylabel()
    assert ls.get_ylim() == nnls.get_ylim()
    assert ls.get_ylim()[0] < drawn.min()


def test_a_choice_on_ranks_that_were_not_measured_has_its_curve(noisy, measurements):
    two = measurements["configuration"].str.replace(")", ",0,0)")
    other = measurements.assign(configuration=measurements["configuration"].str.replace("(", "(0,0,"))
    both = pd.concat([measurements.assign(configuration=two), other], ignore_index=True)
    figure = models_figure(noisy.assign(chosen="(4,1,3,1)"), both)
    assert "P = 7, not measured" in labels(figure.axes[1])


def test_without_the_work_of_the_runs_there_is_no_performance(noisy, measurements):
    figure = models_figure(noisy, measurements.assign(work_flops=np.nan))
    assert len(figure.axes) == 2
    assert not any("glitch" in label for axes in figure.axes for label in labels(axes))


def test_delta_of_many_programs_has_rows_of_panels_and_huge_ones_a_scale_that_says_so():
    rows = [row(app=f"app{number}", delta=5.0) for number in range(5)]
    figure = delta_figure(pd.DataFrame(rows))
    assert [axes.get_visible() for axes in figure.axes[:8]] == [True] * 5 + [False] * 3
    assert figure.axes[0].get_yscale() == "symlog" and "(linear to 20 %)" in figure.axes[0].get_ylabel()


def test_an_axis_is_linear_only_where_times_are_below_zero():
    axes = Figure().add_subplot()
    signed_time_axis(axes, np.array([1.0, 2.0]), np.array([0.5, 3.0]))
    assert (axes.get_yscale(), axes.get_ylabel()) == ("log", "time, s")
    signed_time_axis(axes, np.array([2.0, 3.0]), np.array([-0.5, 3.0]))
    assert axes.get_yscale() == "symlog" and "linear to ±1 s" in axes.get_ylabel()


def test_margins_are_equal_on_both_sides_of_either_axis(noisy, measurements):
    low, high = models_figure(noisy, measurements).axes[0].get_xlim()
    assert 32 - low == pytest.approx(high - 256) == pytest.approx(0.03 * (256 - 32))
    squares = (table.assign(size=table["size"] ** 2) for table in (noisy, measurements))  # over more than a decade
    axes = models_figure(*squares).axes[0]
    low, high = axes.get_xlim()
    assert axes.get_xscale() == "log"
    assert 1024 / low == pytest.approx(high / 65536) == pytest.approx(64**0.03)
