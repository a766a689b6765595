"""Checks of measured runs (section 7 of the NP-T paper), and the parts of a choice by the user's own measurements.

The measurements follow Himeno's NP-T equation with known coefficients, on two sub-clusters of four nodes.
"""

import numpy as np
import pytest

from platforms.errors import UserError
from predictor.allocation.configuration import Configuration, Limits
from predictor.allocation.space import Space
from predictor.nodes.cli import main
from predictor.nodes.own_measurements import read_measured
from predictor.nodes.probes import shortlist
from predictor.npt.fitting import fit_models
from predictor.npt.measurements import Measurement, Measurements
from predictor.npt.outliers import LEAST, nearness
from predictor.npt.predictability import CAUTION, FINE, REFUSED, UNKNOWN, checks, cross_validated_error
from predictor.npt.tables import equations

SIZES = (32, 48, 64, 96, 128, 160)
FORM = equations("himeno")


def exact_s(shares, N):
    P = sum(pes * processes for pes, processes in shares)
    used = [(i, M) for i, (_, M) in enumerate(shares) if M]
    return max(float((1 + i) * M * 1e-7 * N**3 / P + (1e-6 * N**2 + 1e-3 * np.log(P) if P > M else 0)) for i, M in used)


def runs(changed=lambda shares, N, time_s: time_s, more=()):
    alone = [((pes, 1), (0, 0)) for pes in range(1, 5)] + [((0, 0), (pes, 1)) for pes in range(1, 5)]
    return Measurements.of(
        Measurement(Configuration(shares), N, changed(shares, N, exact_s(shares, N)))
        for shares in (*alone, *more)
        for N in SIZES
    )


def verdicts(measurements):
    single = measurements.where(measurements.sub_cluster >= 0)
    models = fit_models(single, FORM, weights="relative", reject=True)
    return {check.name: (check.verdict, check.value) for check in checks(measurements, models)}


def test_runs_that_follow_the_model_are_fine_and_what_was_not_measured_is_unknown():
    found = verdicts(runs())
    assert (found["glitches"][0], found["jumps between sizes"][0]) == (FINE, FINE)
    assert (found["repeatability"][0], found["contention between sub-clusters"][0]) == (UNKNOWN, UNKNOWN)


def test_runs_on_both_sub_clusters_that_take_three_times_as_long_refuse():
    def contended(shares, N, time_s):
        return 3 * time_s if all(pes for pes, _ in shares) else time_s

    both = (((2, 1), (2, 1)), ((4, 1), (4, 1)))
    verdict, value = verdicts(runs(contended, more=both))["contention between sub-clusters"]
    assert (verdict, value) == (REFUSED, pytest.approx(2, rel=1e-3))
    assert verdicts(runs(more=both))["contention between sub-clusters"][0] == FINE


def test_repeats_are_compared_with_each_other():
    quiet = runs()
    for factor, verdict in ((1.02, FINE), (1.2, CAUTION), (1.7, REFUSED)):
        twice = {
            name: np.concatenate((getattr(quiet, name), getattr(quiet, name)))
            for name in ("pes", "processes", "size", "work_flops")
        }
        both = Measurements(time_s=np.concatenate((quiet.time_s, factor * quiet.time_s)), **twice)
        assert verdicts(both)["repeatability"] == (verdict, pytest.approx(factor - 1))


def test_a_size_that_is_off_the_curve_on_all_configurations_is_a_jump():
    # At N = 96 all runs take 1.8 times as long; the curve through all sizes is pulled up by less than half of it.
    found = verdicts(runs(lambda shares, N, time_s: 1.8 * time_s if N == 96 else time_s))
    assert found["jumps between sizes"][0] in (CAUTION, REFUSED)


def test_single_slow_runs_are_glitches_and_are_left_out():
    slow = {(((3, 1), (0, 0)), 64), (((0, 0), (2, 1)), 128)}
    noisy = runs(lambda shares, N, time_s: 1.6 * time_s if (shares, N) in slow else time_s)
    # By hand: 2 of 48 runs, 4.2 %: fine.
    assert verdicts(noisy)["glitches"] == (FINE, pytest.approx(2 / 48))
    models = fit_models(noisy, FORM, weights="relative", reject=True)
    assert {
        (noisy.configuration(row).shares, noisy.size[row]) for row in np.flatnonzero(models.outliers).tolist()
    } == slow
    # Without them, the fit is the exact one.
    assert models.predict(Configuration(((4, 1), (4, 1))), 256)[0] == pytest.approx(
        exact_s(((4, 1), (4, 1)), 256), rel=1e-6
    )


def test_leaving_outliers_out_predicts_left_out_sizes_better_where_there_are_outliers():
    noisy = runs(lambda shares, N, time_s: 1.6 * time_s if (shares[0][0], N) == (3, 160) else time_s)

    def error(reject):
        return cross_validated_error(
            noisy, lambda some, near: fit_models(some, FORM, weights="relative", near=near, reject=reject)
        )

    assert error(True) < error(False)
    assert cross_validated_error(runs(), lambda some, near: fit_models(some, FORM, near=near)) < 1e-6


def test_weights_fall_with_the_distance_in_logarithms():
    # By hand: ln 2 from the size, over a width of half of ln 16, is half a standard deviation: exp(-1/8).
    weights = nearness(np.array([8.0, 16.0, 32.0]), 16, 2, 32, width=0.5)
    assert weights == pytest.approx([np.exp(-1 / 8), 1, np.exp(-1 / 8)])
    assert nearness(np.array([1.0, 1e9]), 1e9, 1, 1e9, width=0.1) == pytest.approx([LEAST, 1])
    assert nearness(np.array([4.0, 4.0]), 4, 4, 4, width=0.5).tolist() == [1, 1]


@pytest.mark.parametrize("width", [0.5, 1.0])
def test_local_weights_leave_an_exact_model_as_it_is(width):
    models = fit_models(runs(), FORM, weights="local", near=64, width=width)
    for shares in (((3, 1), (4, 1)), ((4, 1), (0, 0))):
        assert models.predict(Configuration(shares), 64)[0] == pytest.approx(exact_s(shares, 64), rel=1e-6)


def test_the_equation_of_himeno_has_the_halo_of_its_grid():
    # By hand: the faces of N^3 points over P ranks: N^2 for slabs, N^2 / P^(1/2) for pencils, N^2 / P^(2/3) for boxes.
    halos = {"slabs": "N^2", "pencils": "N^2/P^(1/2)", "boxes": "N^2/P^(2/3)"}
    for grid, halo in halos.items():
        names = {term.name for term in equations("himeno", {"grid": grid}).npt}
        assert names & set(halos.values()) == {halo}
        assert names - {halo} == {"N^3/P", "N^2/P", "N/P", "1/P", "N", "1", "log P"}
    assert equations("himeno") == equations("himeno", {"grid": "slabs"})


def test_a_shortlist_has_the_best_of_each_number_of_processes():
    space = Space(Limits((2, 2), (1, 1)))
    times_s = np.array([5.0, 3.0, 4.0, 2.0, 9.0, 1.0, 8.0, np.nan])[: len(space)]
    found = shortlist(space, times_s, 10)
    by_total = {P: times_s[space.total == P] for P in np.unique(space.total)}
    least = sorted(float(np.nanmin(some)) for some in by_total.values() if not np.isnan(some).all())
    assert [one.time_s for one in found] == least
    assert [one.time_s for one in shortlist(space, times_s, 1)] == [1.0]


# The file of measurements.


def test_a_file_of_measurements_is_read_with_its_cost(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text('app,size,configuration,time_s\nhimeno,32,"(2,1,0,0)",1.5\nhpl,32,"(2,1,0,0)",7\n')
    measured = read_measured(str(path), "himeno", 2)
    assert measured.measurements.time_s.tolist() == [1.5]
    assert measured.gathered.cost.node_s == 3.0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("size,time_s\n32,1\n", "no column configuration"),
        ("size,configuration,time_s\n", "no runs of himeno"),
        ('size,configuration,time_s\n32,"(2,1,0)",1\n', ":2, configuration"),
        ('size,configuration,time_s\n32,"(2,1,0,0,0,0)",1\n', "has 3 clusters, the platform has 2"),
        ('size,configuration,time_s\nbig,"(2,1,0,0)",1\n', ":2, size: 'big' is not a number"),
        ('size,configuration,time_s\n32,"(2,1,0,0)",-1\n', "its time is -1.0 s"),
        ('size,configuration,time_s\n32,"(2,1,0,0)"\n', ":2, time_s: '' is not a number"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(tmp_path, text, said):
    path = tmp_path / "runs.csv"
    path.write_text(text)
    with pytest.raises(UserError) as found:
        read_measured(str(path), "himeno", 2)
    assert said in str(found.value)


def test_the_command_chooses_by_own_measurements_or_refuses(tmp_path, capsys):
    import json

    def write(factor):
        lines = ["size,configuration,time_s"]
        for cluster in range(3):
            for pes in range(1, 5):
                shares = [(pes, 1) if i == cluster else (0, 0) for i in range(3)]
                for N in SIZES:
                    text = ",".join(f"{p},{m}" for p, m in shares)
                    lines += [f'{N},"({text})",{factor**k * exact_s(tuple(shares), N)!r}' for k in range(2)]
        (tmp_path / "runs.csv").write_text("\n".join(lines) + "\n")

    arguments = "--scenario ichikawa --app himeno --param grid=slabs --size 256 --processes 1,1,1 --json".split()
    arguments += ["--measurements", str(tmp_path / "runs.csv")]
    write(1.0)
    assert main(arguments) == 0
    data = json.loads(capsys.readouterr().out)
    times_s = {
        shares: exact_s(shares, 256)
        for shares in (((4, 1), (4, 1), (4, 1)), ((4, 1), (4, 1), (0, 0)), ((4, 1), (0, 0), (0, 0)))
    }
    assert Configuration.parse(data["chosen"]).shares == min(times_s, key=times_s.get)
    write(2.0)
    assert main(arguments) == 2
    assert "repeatability: not predictable: repeats of the same run differ by 100 %" in capsys.readouterr().err
    assert main([*arguments, "--unpredictable", "caution"]) == 0
    assert "repeatability: refused" in capsys.readouterr().out
