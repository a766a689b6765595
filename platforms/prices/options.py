"""The options of prices and emissions, and the question that they ask."""

from __future__ import annotations

from dataclasses import dataclass

from platforms.command.request import Request, option
from platforms.errors import UserError
from platforms.model.platform import Platform
from platforms.prices.carbon import Carbon, parse_start, parse_within, read_carbon
from platforms.prices.price import Prices, read_prices

_SECTION = "Cost and emissions"


@dataclass(frozen=True, kw_only=True)
class PriceOption(Request):
    """The option --price."""

    price: str | None = option(
        None,
        "X|NAME=X,...|FILE.toml",
        "price of a node hour, such as 0.4, 0.4USD or 0.02EUR/core-hour (default currency: EUR), one for all hosts, by "
        "host or cluster, or from a file (docs/planning/cost-and-carbon.md)",
        section=_SECTION,
    )


@dataclass(frozen=True, kw_only=True)
class CarbonOptions(Request):
    """The options about emissions at any time."""

    carbon: str | None = option(
        None,
        "G|NAME=G,...|FILE",
        "grams of CO2-equivalent per kWh: one value, the 24 of a day, by cluster, or from a FILE.csv with columns time "
        "and g_per_kwh, or a FILE.toml of sites",
        section=_SECTION,
    )
    pue: float | None = option(
        None, "X", "power usage effectiveness, by which energy is multiplied (default: the file's, or 1)",
        section=_SECTION,
    )  # fmt: skip
    embodied: float | None = option(
        None, "G", "embodied emissions of a node, grams per node hour (default: the file's, or none)", section=_SECTION
    )


@dataclass(frozen=True, kw_only=True)
class CostOptions(PriceOption, CarbonOptions):
    """The options of prices, of emissions, and of the start of a run."""

    start: str | None = option(
        None,
        "TIME",
        'start of the run: an hour such as 14:00, or "2026-11-28 14:00" (default: the first time of --carbon)',
        section=_SECTION,
    )
    start_within: str | None = option(
        None,
        "24h",
        "the run may start up to so much later: find the start with the least emissions",
        section=_SECTION,
    )


@dataclass(frozen=True)
class CostQuestion:
    """A question about the cost and the emissions of runs."""

    prices: Prices | None
    carbon: Carbon | None
    start_s: float = 0.0  # in the time of the profiles
    within_s: float | None = None  # None: the run starts at start_s

    @property
    def asked(self) -> bool:
        """True if there is anything to answer."""
        return self.prices is not None or self.carbon is not None

    def check(self, platform: Platform) -> None:
        """Check that prices and sites name hosts and clusters of the platform, and have values for the start.

        Raises:
            UserError: They do not.
        """
        if self.prices is not None:
            self.prices.check(platform, "--price")
        if self.carbon is not None:
            self.carbon.check(platform, "--carbon")
            for site in self.carbon.sites:
                site.profile.check(self.start_s, self.start_s, "--carbon")


def prices_from_request(request: PriceOption) -> Prices | None:
    """Return the prices of --price; None: it is not given.

    Raises:
        UserError: They are wrong.
    """
    return None if request.price is None else read_prices(request.price)


def carbon_from_request(request: CarbonOptions) -> Carbon | None:
    """Return the sites of --carbon, with --pue and --embodied; None: it is not given.

    Raises:
        UserError: A value is wrong, or the other options are given alone.
    """
    if request.carbon is None:
        for name in ("pue", "embodied", "start", "start_within"):
            if getattr(request, name, None) is not None:
                raise UserError(f"--{name.replace('_', '-')}", "goes with --carbon", "Give that too, or leave it out")
        return None
    return read_carbon(request.carbon).changed(pue=request.pue, embodied=request.embodied)


def costs_from_request(request: CostOptions) -> CostQuestion:
    """Return what the options ask for.

    Raises:
        UserError: They are wrong, or the sites have profiles of different kinds.
    """
    prices, carbon = prices_from_request(request), carbon_from_request(request)
    if carbon is None:
        return CostQuestion(prices, None)
    profiles = [site.profile for site in carbon.sites]
    dated = [profile for profile in profiles if not profile.repeats]
    if len({(profile.origin is None, profile.origin) for profile in dated}) > 1:
        problem = "series that begin at different times"
        raise UserError(f"--carbon {request.carbon}", problem, "Let all begin at the same time")
    start_s = parse_start(request.start, dated[0] if dated else profiles[0])
    within_s = None if request.start_within is None else parse_within(request.start_within)
    return CostQuestion(prices, carbon, start_s, within_s)
