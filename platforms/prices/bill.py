"""The bill of a run: its cost and its emissions, with what is unknown about them and why."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from platforms.model.platform import Platform
from platforms.prices.carbon import J_PER_KWH, Site, best_start, emitted_g
from platforms.prices.options import CostQuestion
from platforms.prices.price import S_PER_HOUR
from platforms.terminal.quantities import percent, significant
from platforms.wording import number_of

UNKNOWN = "unknown"
COLUMNS = ("cost", "currency", "carbon_g", "least_carbon_g", "least_carbon_start")  # of Bill.to_json, for tables


def amount_text(value: float | None) -> str:
    """Return a value for people; None is unknown."""
    return UNKNOWN if value is None else significant(value)


@dataclass(frozen=True)
class Bill:
    """The cost and the emissions of a run; what is not known is None, with the reason."""

    node_hours: float
    currency: str | None = None  # None: no prices are given
    cost: float | None = None
    no_cost: str | None = None
    emits: bool = False  # emissions are asked for
    kwh: float | None = None  # of the hosts in use, without the power usage effectiveness
    carbon_g: float | None = None  # operational and embodied, CO2-equivalent
    embodied_g: float = 0.0
    no_carbon: str | None = None
    start: str | None = None  # of the run, where its time matters
    least_start: str | None = None  # start with the least emissions; None: not asked for
    least_carbon_g: float | None = None
    within: float | None = None  # how much later it may start, s
    sources: tuple[str, ...] = ()  # of prices and emissions, with their dates

    def lines(self, *, most: bool = False) -> Iterator[str]:
        """Yield sentences; ``most``: the energy is an upper bound."""
        if self.currency is not None:
            hours = f"for {significant(self.node_hours)} node hours"
            known = f"cost {significant(self.cost)} {self.currency}, {hours}"
            yield known if self.cost is not None else f"cost {UNKNOWN}: {self.no_cost}"
        if self.emits:
            yield from self._emissions("at most " if most else "")
        if self.sources:
            yield f"prices and emissions by {'; '.join(self.sources)}"

    def _emissions(self, most: str) -> Iterator[str]:
        if self.carbon_g is None:
            yield f"emissions {UNKNOWN}: {self.no_carbon}"
            return
        start = "" if self.start is None else f", with a start at {self.start}"
        made = f", {significant(self.embodied_g)} of them embodied" if self.embodied_g else ""
        yield f"emissions {most}{significant(self.carbon_g)} g CO2e for {significant(self.kwh)} kWh{made}{start}"
        if self.least_start is None or self.least_carbon_g is None or self.within is None:
            return
        within = f"within {significant(self.within / S_PER_HOUR)} h"
        if self.least_start == self.start or self.least_carbon_g >= self.carbon_g:
            yield f"no later start {within} emits less"
        else:
            less = percent(100 * (1 - self.least_carbon_g / self.carbon_g))
            yield (
                f"start with the least emissions {within}: {self.least_start}, {most}"
                f"{significant(self.least_carbon_g)} g CO2e, {less} % less"
            )

    def to_json(self) -> dict[str, Any]:
        """Return the values by name; what is not known or not asked for is None."""
        return {
            "node_hours": self.node_hours,
            "cost": self.cost,
            "currency": self.currency,
            "cost_unknown_because": self.no_cost,
            "carbon_g": self.carbon_g,
            "embodied_g": self.embodied_g if self.emits else None,
            "carbon_unknown_because": self.no_carbon,
            "start": self.start,
            "least_carbon_start": self.least_start,
            "least_carbon_g": self.least_carbon_g,
            "sources": list(self.sources),
        }


def bill(
    question: CostQuestion,
    platform: Platform,
    hosts: Sequence[str],
    *,
    time_s: float,
    energies_j: Mapping[str, float] | float | None,
    no_energy: str | None = None,
) -> Bill:
    """Return the bill of a run.

    Args:
        question: Prices and sites.
        platform: The platform.
        hosts: Hosts in use; each counts once.
        time_s: Time of the run.
        energies_j: Energy of each host in use, or of all together, J; None: it is not known.
        no_energy: Why not.

    Raises:
        UserError: A series of emissions has no values for the time of the run.
    """
    used = list(dict.fromkeys(hosts))
    values: dict[str, Any] = {"node_hours": len(used) * time_s / S_PER_HOUR}
    sources: list[str] = []
    if question.prices is not None:
        values |= _cost(question, platform, used, time_s)
        sources += question.prices.dated()
    if question.carbon is not None:
        values |= _carbon(question, platform, used, time_s, energies_j, no_energy)
        sources += question.carbon.dated()
    return Bill(**values, sources=tuple(dict.fromkeys(sources)))


def _cost(question: CostQuestion, platform: Platform, used: Sequence[str], time_s: float) -> dict[str, Any]:
    assert question.prices is not None
    rate, currency = question.prices.rate(platform, used), question.prices.currency
    if rate is not None:
        return {"currency": currency, "cost": rate * time_s / S_PER_HOUR}
    return {"currency": currency, "no_cost": f"no price for {_some(question.prices.without(platform, used))}"}


def _some(hosts: Sequence[str]) -> str:
    return hosts[0] + (f" and {number_of(len(hosts) - 1, 'more host')}" if len(hosts) > 1 else "")


def _carbon(
    question: CostQuestion,
    platform: Platform,
    used: Sequence[str],
    time_s: float,
    energies_j: Mapping[str, float] | float | None,
    no_energy: str | None,
) -> dict[str, Any]:
    assert question.carbon is not None
    sites: dict[Site, list[str]] = {}
    without = []
    for host in used:
        site = question.carbon.of_host(platform, host)
        if site is None:
            without.append(host)
        else:
            sites.setdefault(site, []).append(host)
    why = None
    if without:
        why = f"no grams per kWh for {_some(without)}"
    elif energies_j is None:
        why = no_energy or "the energy is not known"
    elif not isinstance(energies_j, Mapping) and len(sites) > 1:
        why = "the energy is known for all hosts together, not for each site"
    if why is not None or energies_j is None:
        return {"emits": True, "no_carbon": why}
    if isinstance(energies_j, Mapping):
        energies = [(site, math.fsum(energies_j[host] for host in some)) for site, some in sites.items()]
    else:
        energies = [(next(iter(sites)), energies_j)]
    return _emissions(question, sites, energies, time_s)


def _emissions(
    question: CostQuestion, sites: Mapping[Site, Sequence[str]], energies: Sequence[tuple[Site, float]], time_s: float
) -> dict[str, Any]:
    start_s = question.start_s
    for site, _ in energies:
        site.profile.check(start_s, start_s + time_s, "--carbon")
    embodied_g = math.fsum(site.embodied_g(len(some), time_s) for site, some in sites.items())
    varying = next((site.profile for site, _ in energies if not site.profile.constant), None)
    values: dict[str, Any] = {
        "emits": True,
        "kwh": math.fsum(energy_j for _, energy_j in energies) / J_PER_KWH,
        "embodied_g": embodied_g,
        "carbon_g": emitted_g(energies, start_s=start_s, time_s=time_s) + embodied_g,
    }
    if varying is not None:
        values["start"] = varying.text(start_s)
    if question.within_s is not None:
        shown = energies[0][0].profile if varying is None else varying
        best = best_start(
            energies, earliest_s=start_s, within_s=question.within_s, time_s=time_s, where="--start-within"
        )  # fmt: skip
        values |= {
            "start": shown.text(start_s),
            "least_start": shown.text(best.start_s),
            "least_carbon_g": best.operational_g + embodied_g,
            "within": question.within_s,
        }
    return values
