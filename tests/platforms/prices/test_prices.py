"""Prices: their forms, their lists, and what has none."""

from pathlib import Path

import pytest

from platforms.errors import UserError
from platforms.model.platform import Cluster, Host, Platform
from platforms.prices.price import Price, read_prices

OLD = Cluster("old", (Host("a", 1e9, 4), Host("b", 1e9, 4)))
PLATFORM = Platform("p", Path("/p.xml"), "", (OLD, Cluster("new", (Host("c", 2e9, 64),))))
FILE = """
currency = "USD"
date = 2026-11-01
source = "page of prices"
[prices.old]
price = 0.5
[prices.c]
price = 0.02
unit = "core hour"
date = "2026-11-20"
"""


def test_a_node_hour_of_a_price_by_core_counts_all_cores():
    # By hand: two hosts at 0.5 and 64 cores at 0.02: 1 + 1.28.
    assert read_prices("old=0.5,new=0.02EUR/core-hour").rate(PLATFORM, ["a", "b", "c", "a"]) == pytest.approx(2.28)
    assert read_prices("0.5,1.28").of_clusters(PLATFORM) == [0.5, 1.28]


def test_a_file_gives_currency_date_and_source_of_each_price(tmp_path):
    (tmp_path / "prices.toml").write_text(FILE)
    prices = read_prices(str(tmp_path / "prices.toml"))
    assert prices.by_name["c"] == Price(0.02, "USD", "core hour", "2026-11-20", "page of prices")
    assert prices.rate(PLATFORM, ["a", "c"]) == pytest.approx(1.78)
    assert prices.dated() == ["page of prices of 2026-11-01", "page of prices of 2026-11-20"]


def test_a_total_with_a_host_that_has_no_price_is_unknown():
    prices = read_prices("old=0.5")
    assert prices.rate(PLATFORM, ["a"]) == 0.5
    assert prices.rate(PLATFORM, ["a", "c"]) is None
    assert prices.without(PLATFORM, ["a", "c", "c"]) == ["c"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("-1", "below zero"),
        ("nan", "not a number"),
        ("inf", "not a number"),
        ("free", "'free' is no price"),
        ("", "'' is no price"),
        ("1EUR,2USD", "EUR and USD, which cannot be added"),
        ("old=1EUR,new=2USD", "EUR and USD"),
        ("old=1,2", "others have none"),
        ("old=1,old=2", "twice"),
        ("1EUR/hour", "is no price"),
    ],
)
def test_wrong_prices_get_one_line(text, said):
    with pytest.raises(UserError, match=said):
        read_prices(text)


@pytest.mark.parametrize(
    ("text", "said"), [("older=1", "no cluster or host older"), ("1,2,3", "3 values for 2 clusters: old, new")]
)
def test_prices_of_another_platform_get_one_line(text, said):
    with pytest.raises(UserError, match=said):
        read_prices(text).check(PLATFORM, "--price")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no prices"),
        ("[prices]", "no prices"),
        ("[prices]\na = 1", "not a table"),
        ("[prices.a]", "'price' is missing"),
        ("[prices.a]\nprice = -1", "below zero"),
        ("[prices.a]\nprice = nan", "not a number"),
        ("[prices.a]\nprice = 1\ncurrency = 'Euro'", "no code of a currency"),
        ("[prices.a]\nprice = 1\nunit = 'month'", "unit month: unknown"),
        ("[prices.a]\nprice = 1\n[prices.b]\nprice = 1\ncurrency = 'USD'", "EUR and USD"),
        ("[prices.a]\nprise = 1", "unknown key 'prise'"),
    ],
)
def test_wrong_files_of_prices_get_one_line(tmp_path, text, said):
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(UserError, match=said):
        read_prices(str(tmp_path / "p.toml"))
