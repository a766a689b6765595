"""Read the links of a wide-area network from a TOML file, for scenarios and for systems of levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from platforms.errors import PlatformError, nearest
from platforms.files.checked_toml import CheckedTable
from platforms.grids.grid import WanLink, Wire, wan_ends


def wan_links(
    entry: CheckedTable,
    shape: str,
    zones: Mapping[str, str],
    *,
    what: str,
    key: str,
    duplex: bool,
    wire: Callable[[CheckedTable], Wire],
) -> tuple[WanLink, ...]:
    """Return all links that a shape needs.

    A link that [[links]] describes has the values given there; all others have the values of the network.

    Args:
        entry: The table of the network, such as [wan].
        shape: One of WAN_SHAPES.
        zones: The zone of each item that the network joins, by the item's name in the file.
        what: The word for such an item in error messages, such as "cluster".
        key: The key with which a link of a star names its item.
        duplex: Whether links are duplex if the file does not say so.
        wire: Reads bandwidth and latency of the network, and of each of its links.

    Raises:
        PlatformError: A link is wrong; the message names it.
    """
    duplex = entry.boolean("duplex", duplex)
    usual = wire(entry)
    links = {ends: WanLink(*ends, usual, duplex) for ends in wan_ends(shape, list(zones.values()))}
    private = set()
    for table in entry.tables("links", "wan.links"):
        ends = _ends(table, shape, zones, what, key)
        if ends in private:
            raise PlatformError(table.where, "this link is given twice", "Keep one")
        private.add(ends)
        links[ends] = WanLink(*ends, wire(table), table.boolean("duplex", duplex))
    return tuple(links.values())


def _ends(entry: CheckedTable, shape: str, zones: Mapping[str, str], what: str, key: str) -> tuple[str, str | None]:
    """Return the ends of a link in the order of wan_ends."""
    first, second = [*zones, "c1", "c2"][:2]  # names for the example in messages
    if shape == "star":
        if entry.has("between"):
            raise PlatformError(
                entry.where, "'between' does not go with a star", f'Write {key} = "{first}": its link to the hub'
            )
        names = [entry.text(key)]
    else:
        if entry.has(key):
            raise PlatformError(
                entry.where, f"{key!r} does not go with a mesh", f'Write between = ["{first}", "{second}"]'
            )
        names = entry.texts("between", 2)
    for name in names:
        if name not in zones:
            raise PlatformError(entry.where, f"no {what} {name!r}", nearest(name, zones))
    if len(set(names)) != len(names):
        raise PlatformError(entry.where, f"both ends are the same {what}", "Name two")
    order = list(zones)
    first_zone, *other = (zones[name] for name in sorted(names, key=order.index))
    return first_zone, other[0] if other else None
