"""N-T, P-T and NP-T models: recovery of known ones, and rules by hand (Ichikawa, Takahashi, Kawai, section 4)."""

import math

import numpy as np
import pytest

from platforms.errors import UserError
from predictor.allocation.configuration import Configuration, Limits
from predictor.allocation.space import Space
from predictor.base import OutOfRange
from predictor.npt.fitting import fit_models
from predictor.npt.measurements import Measurement, Measurements
from predictor.npt.tables import equations as equations_of
from predictor.npt.terms import Equations, columns, terms

SIZES = (400, 800, 1600, 2400, 3200, 4800, 6400)


def homogeneous(time_s, *, pes=(4, 4), processes=(2, 1), sizes=SIZES, work=None):
    """Return runs on each sub-cluster alone, with times time_s(i, N, P, M)."""
    runs = []
    for i, (most_pes, most) in enumerate(zip(pes, processes, strict=True)):
        for P_i in range(1, most_pes + 1):
            for M in range(1, most + 1):
                configuration = Configuration(tuple((P_i, M) if j == i else (0, 0) for j in range(len(pes))))
                runs.extend(Measurement(configuration, N, time_s(i, N, P_i * M, M), work and work(N)) for N in sizes)
    return runs


def fits(models):
    """Return all fits by the text of their subject, such as "G1 P=4 M=2" or "G1 M=2"."""
    every = {**models.points.fits, **(models.curves.fits if models.curves else {}), **models.whole}
    return {str(what): fitted for what, fitted in every.items()}


@pytest.mark.parametrize("app", ["himeno", "hpl", "fft"])
@pytest.mark.parametrize("method", ["ls", "nnls"])
def test_np_t_models_of_known_coefficients_are_recovered(app, method):
    form = equations_of(app).npt
    scale = columns(form, np.array([2000.0]), np.array([3.0]))[0]
    k = {(i, M): (1 + i) / M * np.arange(1, len(form) + 1) / scale for i, M in ((0, 1), (0, 2), (1, 1))}

    def time_s(i, N, P, M):
        return float(columns(form, np.array([float(N)]), np.array([float(P)]))[0] @ k[i, M])

    models = fit_models(Measurements.of(homogeneous(time_s)), equations_of(app), method=method)
    space = Space(Limits((4, 4), (2, 1)))
    times_s, table_s = models.times(space, 9600)
    for row in range(len(space)):
        configuration = space.configuration(row)
        shares, P = configuration.shares, configuration.total
        if configuration.nodes > 1:
            by_hand = {i: time_s(i, 9600, P, shares[i][1]) for i in configuration.used}
            assert times_s[row] == pytest.approx(max(by_hand.values()), rel=1e-6)
            assert {i: table_s[i, shares[i][1], P] for i in by_hand} == pytest.approx(by_hand, rel=1e-6)
            total_s, parts = models.predict(configuration, 9600)
            assert (total_s, parts) == (pytest.approx(times_s[row]), pytest.approx(by_hand, rel=1e-6))


def test_a_single_pe_takes_the_n_t_model_and_more_the_np_t_model():
    # Without a network one process takes N^3 and two on the same PE 2 N^3; over the network N^3 / P + 5 N^2, M or not.
    def time_s(i, N, P, M):
        return N**3 * M if P == M else N**3 / P + 5 * N**2

    models = fit_models(Measurements.of(homogeneous(time_s, sizes=(1, 2, 3, 4, 5, 6))), equations_of("himeno"))
    N = 10
    expected = {
        "1,1,0,0": N**3,  # P = M = 1
        "1,2,0,0": 2 * N**3,  # P = M = 2, one PE
        "2,1,0,0": N**3 / 2 + 5 * N**2,  # P = 2 > M
        "1,1,1,1": N**3 / 2 + 5 * N**2,  # P = 2, of two sub-clusters
        "1,2,1,1": N**3 / 3 + 5 * N**2,  # P = 3, which sub-cluster 1 with M = 2 never had
        "4,2,4,1": N**3 / 12 + 5 * N**2,  # extrapolated
    }
    space = Space(Limits((4, 4), (2, 1)))
    rows = space.rows([Configuration.parse(text) for text in expected])
    times_s, table_s = models.times(space, N)
    assert times_s[rows].tolist() == pytest.approx(list(expected.values()), rel=1e-9)
    assert np.isnan(table_s[0, 2, 1])  # P < M_i does not exist
    assert (table_s[:, 0] == -np.inf).all()
    assert sorted(fits(models)) == ["G1 M=1", "G1 M=2", "G1 P=1 M=1", "G1 P=2 M=2", "G2 M=1", "G2 P=1 M=1"]


def test_p_t_by_hand():
    # T(N)|P = 40 N / P.  Referred to P = 8, where T = 5 N: k_0 = 8; to P = 2, T = 20 N: 2; to P = 1: 1.
    equations = Equations(nt=terms("N"), pt=terms("T/P", "1", "log P"), npt=terms("N/P", "1"))
    runs = [Measurement(Configuration(((P, 1),)), N, 40 * N / P) for P in (1, 2, 4, 8) for N in (10, 20, 30)]
    models = fit_models(Measurements.of(runs), equations, form="npt:pt", method="ls")
    assert fits(models)["G1 M=1"].coefficients == pytest.approx([8, 0, 0], abs=1e-9)
    assert models.predict(Configuration.parse("16,1"), 100)[0] == pytest.approx(250)
    assert models.predict(Configuration.parse("1,1"), 100)[0] == pytest.approx(4000)  # P = M: the N-T model
    to_two = fit_models(Measurements.of(runs), equations, form="npt:pt", method="ls", reference_pes=2)
    assert fits(to_two)["G1 M=1"].coefficients == pytest.approx([2, 0, 0], abs=1e-9)
    to_one = fit_models(Measurements.of(runs), equations, form="npt:pt", method="ls", reference_pes=1)
    assert fits(to_one)["G1 M=1"].coefficients == pytest.approx([1, 0, 0], abs=1e-9)
    with pytest.raises(UserError, match="no runs on its reference of 3 PEs"):
        fit_models(Measurements.of(runs), equations, form="npt:pt", reference_pes=3)


def test_p_t_with_all_its_terms_by_hand():
    # Reference T = 100 N on a single PE: 0.5 P T + 2 T / P + 7 at P = 4, N = 3: 600 + 150 + 7.
    equations = Equations(nt=terms("N", "1"), pt=equations_of("hpl").pt, npt=terms("N/P"))

    def time_s(i, N, P, M):
        return 100 * N if P == 1 else 50 * P * N + 200 * N / P + 7

    runs = homogeneous(time_s, pes=(4,), processes=(1,), sizes=(1, 2, 3))
    models = fit_models(Measurements.of(runs), equations, form="npt:pt", reference_pes=1)
    assert fits(models)["G1 M=1"].terms == ("P T", "T/P", "1")
    assert fits(models)["G1 M=1"].coefficients == pytest.approx([0.5, 2, 7])
    assert models.predict(Configuration.parse("4,1"), 3)[0] == pytest.approx(757)
    assert models.predict(Configuration.parse("8,1"), 3)[0] == pytest.approx(1200 + 75 + 7)


def test_p_t_to_the_letter_refers_to_the_time_of_the_same_p():
    # T = W / P on 2, 3, 4 PEs, T/P alone: k_0 = (1/8 + 1/27 + 1/64) / (1/16 + 1/81 + 1/256) = 3684 / 1633.
    equations = Equations(nt=terms("N"), pt=terms("T/P"), npt=terms("N/P"))
    runs = homogeneous(lambda i, N, P, M: N / P, pes=(4,), processes=(1,), sizes=(10, 20))
    models = fit_models(Measurements.of(runs), equations, form="npt:pt-printed")
    k = 3684 / 1633
    for pes, expected in ((2, k / 2 * 50), (3, k / 3 * 100 / 3), (4, k / 4 * 25), (8, k / 8 * 25)):  # 8: refers to 4
        assert models.predict(Configuration(((pes, 1),)), 100)[0] == pytest.approx(expected)
    exact = fit_models(Measurements.of(runs), equations, form="npt:pt")
    assert exact.predict(Configuration(((8, 1),)), 100)[0] == pytest.approx(12.5)


def test_n_t_models_hold_for_what_was_measured_alone():
    models = fit_models(
        Measurements.of(homogeneous(lambda i, N, P, M: (i + 1) * N / P)), equations_of("hpl"), form="npt:nt"
    )
    space = Space(Limits((4, 4), (2, 1)))
    times_s, _ = models.times(space, 9600)
    by_text = {str(space.configuration(row)): time for row, time in enumerate(times_s.tolist())}
    assert by_text["(4,2,0,0)"] == pytest.approx(1200)
    assert by_text["(1,1,1,1)"] == pytest.approx(9600)  # P = 2: max(N/2, 2 N/2), both sub-clusters had 2 processes
    assert by_text["(1,2,2,1)"] == pytest.approx(4800)  # P = 4
    assert math.isnan(by_text["(1,2,1,1)"])  # P = 3: never with M = 2
    assert math.isnan(by_text["(4,1,4,1)"])  # P = 8: beyond four PEs
    with pytest.raises(OutOfRange, match="P = 8: no npt:nt model of sub-cluster 1 with 1 processes"):
        models.predict(Configuration.parse("4,1,4,1"), 9600)


def test_n_t_models_of_measured_configurations_come_first():
    runs = homogeneous(lambda i, N, P, M: N / P)
    whole = [Measurement(Configuration.parse("4,1,4,1"), N, 3 * N) for N in SIZES]
    slower = [Measurement(Configuration.parse("1,1,1,1"), N, 7 * N) for N in SIZES]
    models = fit_models(Measurements.of([*whole, *runs, *slower]), equations_of("hpl"), form="npt:nt")
    space = Space(Limits((4, 4), (2, 1)))
    rows = space.rows([Configuration.parse(text) for text in ("4,1,4,1", "1,1,1,1", "1,1,2,1", "4,2,4,1")])
    assert models.times(space, 100)[0][rows].tolist() == pytest.approx([300, 700, 100 / 3, np.nan], nan_ok=True)
    assert models.predict(Configuration.parse("4,1,4,1"), 100) == (pytest.approx(300), {})
    with pytest.raises(UserError, match="no times by sub-cluster"):
        models.table_s(space, 100)
    # A space without them, and the other forms, which take the homogeneous runs alone.
    few = Space(Limits((1, 0), (1, 0)))
    assert models.times(few, 100)[0].tolist() == pytest.approx([100])
    same = fit_models(Measurements.of([*whole, *runs]), equations_of("hpl")).times(space, 100)[0]
    assert same == pytest.approx(fit_models(Measurements.of(runs), equations_of("hpl")).times(space, 100)[0], rel=1e-12)


def test_a_wrecked_model_is_negative_by_least_squares_and_not_by_nnls():
    # The last two sizes are far quicker than the others: the cubic bends down, and N^3 gets a negative coefficient.
    def time_s(i, N, P, M):
        return (1e-6 * N**3 / P + 1e-3 * N**2) * (0.3 if N > 150 else 1)

    data = Measurements.of(homogeneous(time_s, sizes=(32, 64, 96, 128, 160, 192)))
    configuration = Configuration.parse("4,1,4,1")
    wrecked = fit_models(data, equations_of("himeno"), method="ls")
    assert wrecked.predict(configuration, 256)[0] < 0
    sound = fit_models(data, equations_of("himeno"), method="nnls")
    assert all((fitted.coefficients >= 0).all() for fitted in fits(sound).values())
    assert sound.predict(configuration, 256)[0] > sound.predict(configuration, 192)[0] > 0


def test_a_glitch_left_out_restores_the_model():
    def time_s(i, N, P, M):
        return (1e-6 * N**3 / P + 1e-3 * N**2) * (2 if N == 192 and P == 2 else 1)

    sizes = (32, 48, 64, 80, 96, 112, 128, 160, 192)
    data = Measurements.of(homogeneous(time_s, sizes=sizes, work=lambda N: 34.0 * N**3))
    configuration, true_s = Configuration.parse("4,1,4,1"), 1e-6 * 256**3 / 8 + 1e-3 * 256**2
    assert abs(fit_models(data, equations_of("himeno")).predict(configuration, 256)[0] / true_s - 1) > 0.05
    models = fit_models(data, equations_of("himeno"), glitch_k=0.9)
    assert data.size[models.glitches].tolist() == [192, 192, 192]  # P = 2: G1 with M = 1 and M = 2, G2
    assert models.predict(configuration, 256)[0] == pytest.approx(true_s)


def test_too_few_sizes_after_glitches_say_so():
    data = Measurements.of(
        homogeneous(lambda i, N, P, M: N if N < 1000 else 9 * N, sizes=(1, 2, 3, 1000), work=lambda N: N)
    )
    with pytest.raises(
        UserError, match=r"N-T model, G1 P=1 M=1 \(1 glitches left out\): 3 measurements for the 4 terms"
    ):
        fit_models(data, equations_of("himeno"), glitch_k=0.9)


def test_a_dropped_term_is_gone_from_the_curves_alone():
    data = Measurements.of(homogeneous(lambda i, N, P, M: N / P))
    models = fit_models(data, equations_of("fem"), drop={"log P"})
    assert fits(models)["G2 M=1"].terms == ("N^3/P", "N^2/P", "N/P", "1/P", "N^2", "N", "1")
    assert fits(models)["G2 P=1 M=1"].terms == ("N^3", "N^2", "N", "1")
    assert fits(fit_models(data, equations_of("fem"), form="npt:nt", drop={"N"}))["G2 P=1 M=1"].terms == (
        "N^3",
        "N^2",
        "1",
    )
    with pytest.raises(UserError, match="not in this model"):
        fit_models(data, equations_of("hpl"), drop={"log P"})


def test_a_sub_cluster_of_one_node_has_a_time_alone_only():
    data = Measurements.of(homogeneous(lambda i, N, P, M: N / P, pes=(4, 1)))
    models = fit_models(data, equations_of("himeno"))
    assert models.predict(Configuration.parse("0,0,1,1"), 100)[0] == pytest.approx(100)
    with pytest.raises(OutOfRange, match="no npt model of sub-cluster 2 with 1 processes on a PE"):
        models.predict(Configuration.parse("4,1,1,1"), 100)


def test_sizes_may_differ_from_one_number_of_processes_to_the_next():
    # FEM: N is a multiple of P (section 5.2).
    runs = []
    for P in (1, 2, 3, 4):
        for n in range(1, 8):
            N = 12 * n // P * P
            runs.append(Measurement(Configuration(((P, 1),)), N, 2e-6 * N**3 / P + 1e-4 * N**2 + 0.1 * math.log(P)))
    data = Measurements.of(runs)
    for form in ("npt", "npt:pt"):
        models = fit_models(data, equations_of("fem"), form=form)
        assert models.predict(Configuration(((1, 1),)), 90)[0] == pytest.approx(2e-6 * 90**3 + 1e-4 * 90**2)
    assert fit_models(data, equations_of("fem")).predict(Configuration(((6, 1),)), 90)[0] == pytest.approx(
        2e-6 * 90**3 / 6 + 1e-4 * 90**2 + 0.1 * math.log(6)
    )


def test_sizes_beyond_the_measured_ones_are_flagged():
    models = fit_models(Measurements.of(homogeneous(lambda i, N, P, M: N / P)), equations_of("hpl"))
    assert models.flags(400) == models.flags(6400) == ()
    assert "400 to 6400" in models.flags(9600)[0]
    with pytest.raises(UserError, match="1 sub-clusters, 2 were measured"):
        models.times(Space(Limits((4,), (1,))), 400)
    with pytest.raises(UserError, match="not a size"):
        models.times(Space(Limits((4, 4), (1, 1))), 0)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"form": "tp"}, "Known: npt:nt, npt:pt, npt:pt-printed, npt, npt:messages"),
        ({"method": "svd"}, "Known: ls, nnls"),
        ({"reference_pes": 2}, "npt models have none"),
        ({"glitch_k": 0.9}, "work of some measurements is not known"),
    ],
)
def test_unknown_ways_to_fit_are_refused(arguments, said):
    with pytest.raises(UserError, match=said):
        fit_models(Measurements.of(homogeneous(lambda i, N, P, M: N / P)), equations_of("hpl"), **arguments)
