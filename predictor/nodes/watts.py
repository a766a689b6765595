"""Watts of the nodes of each cluster, where the platform has only a default: ``--watts 60:115,50:74,8:21``."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from platforms.errors import UserError
from platforms.grids.xml import number_text
from platforms.model.platform import Platform, Power
from predictor.nodes.changed_clusters import with_clusters

if TYPE_CHECKING:
    from lxml.etree import _Element

_PROPERTY = "wattage_per_state"


def parse_watts(text: str, clusters: int) -> tuple[Power, ...]:
    """Return the power of a node of each cluster from ``IDLE:FULL,...``.

    Raises:
        UserError: The text is not that, or has another number of clusters.

    >>> parse_watts("60:115,50:74", 2)[1].full_w
    74.0
    """
    where, remedy = f"--watts {text}", "Give IDLE:FULL of a node of every cluster, such as 60:115,50:74"
    try:
        pairs = [tuple(map(float, part.split(":"))) for part in text.split(",")]
    except ValueError:
        raise UserError(where, "not pairs of numbers", remedy) from None
    if len(pairs) != clusters:
        raise UserError(where, f"{len(pairs)} pairs for {clusters} clusters", remedy)
    for pair in pairs:
        if len(pair) != 2 or not 0 <= pair[0] <= pair[1] < float("inf"):
            raise UserError(where, "not 0 <= IDLE <= FULL", remedy)
    return tuple(Power(idle_w, full_w, epsilon_w=idle_w) for idle_w, full_w in pairs)


def powered_platform(platform: Platform, text: str) -> Platform:
    """Return the platform with these watts, at each of its frequencies.

    Raises:
        UserError: As parse_watts, or the platform is no XML file.
    """
    powers = parse_watts(text, len(platform.clusters))
    changes = {
        cluster.name: partial(_set, power=power) for cluster, power in zip(platform.clusters, powers, strict=True)
    }
    return with_clusters(platform, changes, name=platform.name)


def _set(element: _Element, *, power: Power) -> None:
    # Imported here for a quick start: it is slow to import.
    from lxml import etree

    states = element.get("speed", "").count(",") + 1
    numbers = ":".join(map(number_text, (power.idle_w, power.epsilon_w, power.full_w)))
    found = [one for one in element.findall("prop") if one.get("id") == _PROPERTY]
    for prop in found or [etree.SubElement(element, "prop", id=_PROPERTY)]:
        prop.set("value", ",".join([numbers] * states))
