"""Bills of predictions: energies of hosts, and bills by hand."""

import json

import pytest

from platforms.grids.scenario import named_grid
from platforms.prices.bill import bill
from platforms.prices.carbon import read_carbon
from platforms.prices.options import CostQuestion
from platforms.prices.price import read_prices
from platforms.read.read import materialise
from validation.entrance.main import main

RUN = ("--scenario", "grid4x2", "--app", "cg", "--class", "S", "--json")


@pytest.fixture(scope="module")
def platform():
    return materialise(named_grid("grid4x2"))


def asked(capsys, *words):
    assert main([*words]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_bill_by_hand(platform):
    # Two hosts of c1 and one of c2 for half an hour: 0.5 (0.4 + 0.4 + 1) EUR; 1 kWh at 300 g, 2 at 50, PUE 1.2.
    carbon = read_carbon("c1=300,c2=50").changed(pue=1.2, embodied=20.0)
    made = bill(
        CostQuestion(read_prices("c1=0.4,c2=1"), carbon),
        platform,
        ["c1-0", "c1-1", "c2-0", "c1-0"],
        time_s=1800,
        energies_j={"c1-0": 1.8e6, "c1-1": 1.8e6, "c2-0": 7.2e6},
    )
    assert (made.cost, made.currency) == (pytest.approx(0.9), "EUR")
    assert made.carbon_g == pytest.approx(1.2 * (300 + 100) + 20 * 3 / 2)
    assert made.embodied_g == pytest.approx(30) and made.node_hours == 1.5


def test_what_is_unknown_stays_unknown(platform):
    question = CostQuestion(read_prices("c1=0.4"), read_carbon("c1=300,c2=50"))
    made = bill(question, platform, ["c1-0", "c2-0", "c2-1"], time_s=60, energies_j=1.0)
    assert made.cost is None and made.no_cost == "no price for c2-0 and 1 more host"
    assert made.carbon_g is None and "not for each site" in made.no_carbon
    assert [*made.lines()] == [f"cost unknown: {made.no_cost}", f"emissions unknown: {made.no_carbon}"]
    nothing = bill(question, platform, ["c3-0"], time_s=60, energies_j=1.0)
    assert nothing.no_carbon == "no grams per kWh for c3-0"
    assert "not known" in bill(question, platform, ["c1-0"], time_s=60, energies_j=None).no_carbon


@pytest.mark.parametrize("predictor", ["dpgraph:known", "hcf", "fit:loglinear"])
def test_the_energies_of_the_hosts_add_up_to_that_of_the_prediction(capsys, predictor):
    words = ("predict", *RUN, "--predictor", predictor, "--price", "0.36", "--carbon", "c1=100,*=100")
    (made,) = asked(capsys, *words)["predictions"]
    assert made["bill"]["carbon_g"] == pytest.approx(made["prediction"]["energy_j"] / 3.6e6 * 100, rel=1e-12)
    assert made["bill"]["cost"] == pytest.approx(8 * 0.36 / 3600 * made["prediction"]["time_s"], rel=1e-12)


def test_a_day_of_two_levels_says_when_to_start(capsys):
    levels = ",".join(["100"] * 8 + ["400"] * 12 + ["100"] * 4)
    words = ("predict", *RUN, "--carbon", levels, "--start", "14:00", "--start-within", "24h")
    (made,) = asked(capsys, *words)["predictions"]
    assert (made["bill"]["start"], made["bill"]["least_carbon_start"]) == ("14:00", "20:00")
    assert made["bill"]["carbon_g"] == pytest.approx(4 * made["bill"]["least_carbon_g"])


def test_a_curve_has_the_cost_of_each_point(capsys):
    words = ("scale", "--scenario", "grid4x2", "--app", "cg", "--class", "S", "--ranks", "2,4", "--json")
    rows = asked(capsys, *words, "--price", "3.6USD", "--carbon", "360")["rows"]
    for row in rows:
        assert row["bill"]["cost"] == pytest.approx(row["nodes"] * row["time_s"] / 1000)
        assert row["bill"]["carbon_g"] == pytest.approx(row["energy_j"] / 1e4)


def test_predictions_that_are_not_compared_have_no_costs(capsys):
    assert main(["run", *RUN, "--no-target", "--price", "1"]) == 2
    assert "use gridval predict" in capsys.readouterr().err.lower()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--price -1", "below zero"),
        ("--price nan", "not a number"),
        ("--price c1=1EUR,c2=1USD", "EUR and USD"),
        ("--price c9=1", "no cluster or host c9"),
        ("--price none.toml", "cannot be read"),
        ("--carbon 1,2,3", "3 values"),
        ("--carbon c9=1", "no cluster or host c9"),
        ("--start 14", "goes with --carbon"),
        ("--carbon 1 --start-within x", "no length of time"),
    ],
)
@pytest.mark.parametrize("verb", ["predict", "run", "scale"])
def test_wrong_options_end_in_one_line(capsys, verb, words, said):
    assert main([verb, *RUN, *words.split()]) == 2
    errors = capsys.readouterr().err.strip().splitlines()
    assert len(errors) == 1 and said in errors[0]
