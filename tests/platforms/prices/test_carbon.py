"""Emissions: profiles integrated by hand, sites, and the start with the least of them."""

import pytest

from platforms.errors import UserError
from platforms.prices.carbon import (
    DAY_S,
    HOUR_S,
    Carbon,
    Profile,
    Site,
    best_start,
    parse_start,
    parse_within,
    profile_of,
    read_carbon,
    read_series,
)
from platforms.prices.options import CostOptions, costs_from_request

# 400 g/kWh from 8:00 to 20:00, else 100.
TWO_LEVELS = Profile((0.0, 8 * HOUR_S, 20 * HOUR_S), (100.0, 400.0, 100.0), DAY_S)


def test_the_mean_of_two_levels_by_hand():
    # 18:00 to 22:00: two hours at 400, two at 100.
    assert TWO_LEVELS.mean(18 * HOUR_S, 4 * HOUR_S) == pytest.approx(250)
    # Three days from 6:00: each has 12 h of both levels.
    assert TWO_LEVELS.mean(6 * HOUR_S, 3 * DAY_S) == pytest.approx(250)
    assert TWO_LEVELS.mean(20 * HOUR_S, 0.0) == 100


def test_a_run_of_ten_hours_starts_at_the_end_of_the_expensive_time():
    # From 14:00 within 24 h: 20:00 is the first start whose ten hours are all at 100 g/kWh; 1 kWh, so 100 g.
    best = best_start(
        [(Site(TWO_LEVELS), 3.6e6)], earliest_s=14 * HOUR_S, within_s=DAY_S, time_s=10 * HOUR_S, where=""
    )  # fmt: skip
    assert best.start_s == 20 * HOUR_S
    assert best.operational_g == pytest.approx(100)


def test_a_run_longer_than_the_cheap_time_covers_it_whole():
    # 14 h contain at most the 12 cheap ones: first from 18:00 to 8:00; two hours at 400, so (2 * 400 + 12 * 100) / 14.
    best = best_start([(Site(TWO_LEVELS), 3.6e6)], earliest_s=0, within_s=DAY_S, time_s=14 * HOUR_S, where="")
    assert best.start_s == 18 * HOUR_S
    assert best.operational_g == pytest.approx(2000 / 14)


def test_two_sites_with_opposite_profiles_are_weighed_by_their_energies():
    other = Profile((0.0, 8 * HOUR_S, 20 * HOUR_S), (400.0, 100.0, 400.0), DAY_S)
    energies = [(Site(TWO_LEVELS), 3.6e6), (Site(other), 7.2e6)]
    best = best_start(energies, earliest_s=0, within_s=DAY_S, time_s=HOUR_S, where="")
    assert (best.start_s, best.operational_g) == (8 * HOUR_S, pytest.approx(400 + 200))


def test_no_later_start_is_chosen_where_none_emits_less():
    best = best_start([(Site(profile_of([300.0], "")), 3.6e6)], earliest_s=7.0, within_s=DAY_S, time_s=5.0, where="")
    assert best.start_s == 7.0


def test_grams_are_kilowatt_hours_times_pue_times_intensity_and_nodes_add_theirs():
    site = Site(profile_of([250.0], ""), pue=1.4, embodied_g_per_node_hour=20.0)
    assert site.operational_g(1.8e6, start_s=0, time_s=60) == pytest.approx(0.5 * 1.4 * 250)
    assert site.embodied_g(nodes=8, time_s=900) == pytest.approx(20 * 8 / 4)


def test_a_series_of_dates_holds_until_the_next_one_and_ends(tmp_path):
    (tmp_path / "s.csv").write_text(
        "time,g_per_kwh\n2026-11-28 14:00,300\n2026-11-28 15:00,100\n2026-11-28 17:00,200\n"
    )
    series = read_series(tmp_path / "s.csv")
    start_s = parse_start("2026-11-28 14:30", series)
    # Half an hour at 300, two hours at 100, half an hour at 200.
    assert series.mean(start_s, 3 * HOUR_S) == pytest.approx((150 + 200 + 100) / 3)
    assert series.text(start_s) == "2026-11-28 14:30"
    site = Site(series)
    best = best_start([(site, 3.6e6)], earliest_s=start_s, within_s=DAY_S, time_s=HOUR_S, where="")
    assert series.text(best.start_s) == "2026-11-28 15:00"
    with pytest.raises(UserError, match="the series is from 2026-11-28 14:00 to 2026-11-28 19:00"):
        best_start([(site, 1.0)], earliest_s=start_s, within_s=0, time_s=5 * HOUR_S, where="--start")
    with pytest.raises(UserError, match="the series has dates"):
        parse_start("14:30", series)


def test_a_file_of_sites_gives_what_a_site_leaves_out(tmp_path):
    hours = ", ".join(["50"] * 23 + ["290"])
    (tmp_path / "c.toml").write_text(
        f"pue = 1.5\ndate = 2026-01-02\ng_per_kwh = 100\n[sites.c1]\ng_per_kwh = [{hours}]\npue = 1.1\n"
        "source = 'grid'\n"
    )
    carbon = read_carbon(str(tmp_path / "c.toml"))
    assert carbon.of_name("c1").pue == 1.1 and carbon.of_name("c1").profile.mean(0, DAY_S) == pytest.approx(60)
    assert carbon.of_name("c2").pue == 1.5 and carbon.of_name("c2").profile.mean(0, 60) == 100
    assert carbon.dated() == ["grid of 2026-01-02", "2026-01-02"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (",".join(["1"] * 23), "23 values"),
        ("-1", "below zero"),
        ("nan", "not a number"),
        ("c1=1,2", "others have none"),
        ("x", "'x' is not a number"),
    ],
)
def test_wrong_emissions_get_one_line(text, said):
    with pytest.raises(UserError, match=said):
        read_carbon(text)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("c.toml", "", "no emissions"),
        ("c.toml", "[sites.a]", "neither g_per_kwh nor series"),
        ("c.toml", "[sites.a]\ng_per_kwh = [1, 2]", "2 values"),
        ("c.toml", "g_per_kwh = 1\npue = 0.5", "below 1"),
        ("c.csv", "time,g_per_kwh\n1,2\n", "1 rows"),
        ("c.csv", "time,g_per_kwh\n1,2\n1,2\n", "not after"),
        ("c.csv", "time,g_per_kwh\n1,2\nx,2\n", "time 'x'"),
        ("c.csv", "time,g_per_kwh\n1,2\n2,nan\n", "not a number from 0"),
        ("c.csv", "hour,g_per_kwh\n1,2\n", "no column time"),
    ],
)
def test_wrong_files_of_emissions_get_one_line(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=said):
        read_carbon(str(tmp_path / name))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"pue": 1.2}, "--pue: goes with --carbon"),
        ({"start_within": "24h"}, "--start-within: goes with --carbon"),
        ({"carbon": "300", "pue": float("nan")}, "PUE nan"),
        ({"carbon": "300", "embodied": -1.0}, "embodied carbon -1"),
        ({"carbon": "300", "start": "25:00"}, "no date and no hour"),
        ({"carbon": "300", "start_within": "soon"}, "no length of time"),
    ],
)
def test_wrong_options_get_one_line(values, said):
    with pytest.raises(UserError, match=said):
        costs_from_request(CostOptions(**values))


def test_lengths_of_time_have_units():
    assert [parse_within(text) for text in ("24h", "90min", "2d")] == [86400, 5400, 172800]
    assert Carbon().of_name("c1") is None
