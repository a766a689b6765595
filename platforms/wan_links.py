"""The links of a wide-area network from a TOML file, for scenarios and for systems of levels."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from platforms.checked_toml import CheckedTable
from platforms.errors import PlatformError, nearest
from platforms.grid import WanLink, Wire, wan_ends


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
    """All links that a shape needs: the network's own, but for those that its [[links]] describe.

    ``zones``: of what is joined, by name.  ``what``: how the file calls one of these; ``key``: which of them a link of
    a star names.  ``duplex``: where the file says nothing.  ``wire``: reads the values of [wan], and of each of its
    links.

    Raises PlatformError naming the link for what is wrong with it.
    """
    duplex = entry.boolean("duplex", duplex)
    usual = wire(entry)
    links = {ends: WanLink(*ends, usual, duplex) for ends in wan_ends(shape, list(zones.values()))}
    own = set()
    for one in entry.tables("links", "wan.links"):
        ends = _ends(one, shape, zones, what, key)
        if ends in own:
            raise PlatformError(one.where, "this link is given twice", "Keep one")
        own.add(ends)
        links[ends] = WanLink(*ends, wire(one), one.boolean("duplex", duplex))
    return tuple(links.values())


def _ends(entry: CheckedTable, shape: str, zones: Mapping[str, str], what: str, key: str) -> tuple[str, str | None]:
    """The ends of a link as wan_ends orders them."""
    first, second = [*zones, "c1", "c2"][:2]  # for an example
    if shape == "star":
        if entry.has("between"):
            raise PlatformError(entry.where, "'between' in a star", f'Write {key} = "{first}": its link to the hub')
        names = [entry.text(key)]
    else:
        if entry.has(key):
            raise PlatformError(entry.where, f"{key!r} in a mesh", f'Write between = ["{first}", "{second}"]')
        names = entry.texts("between", 2)
    for name in names:
        if name not in zones:
            raise PlatformError(entry.where, f"no {what} {name!r}", nearest(name, zones))
    if len(set(names)) != len(names):
        raise PlatformError(entry.where, f"both ends are the same {what}", "Name two")
    order = list(zones)
    one, *other = (zones[name] for name in sorted(names, key=order.index))
    return one, other[0] if other else None
