"""Figures as inline SVG for an HTML page, with real text, unique ids and the colours of the page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from platforms.plotting.charts import Figure, rendered

if TYPE_CHECKING:
    from lxml.etree import _Element

_SVG = "{http://www.w3.org/2000/svg}"
_HREF = "{http://www.w3.org/1999/xlink}href"
_LINKS = re.compile(r"url\(#([^)]+)\)")
_HEX = re.compile(r"#[0-9a-f]{6}\b")
_FONTS = re.compile(r"(?<=px )('[^;]*?sans-serif)")
_DECIMALS = re.compile(r"-?\d+\.\d{3,}")
_WIDE_FONTS = "'DejaVu Sans', Verdana, sans-serif"  # of equal widths, so that text fits its place
_GREYS = ((0xC0, "--faint"), (0x48, "--muted"), (0, "--edge"))  # CSS variables for greys from this level on
BLACK, WHITE = "#000000", "#ffffff"


def inline_svg(figure: Figure, name: str, *, title: str, themed: bool = True, scale: float = 1.0) -> str:
    """Return the figure as an <svg> element; equal figures and names give equal text.

    Args:
        figure: The figure.
        name: Prefix of all ids in the element.
        title: Text for screen readers.
        themed: Replace colours by CSS variables named after them (--c-d55e00, with that colour as default) and black by
            the colour of the text, and leave the background to the page.
        scale: Width in the page relative to the figure, if there is space.
    """
    # Imported here because it is slow to import.
    from lxml import etree

    metadata = dict.fromkeys(("Creator", "Format", "Type"))
    drawn = rendered(figure, "svg", ids=name, texts=True, metadata=metadata, transparent=themed)
    root = etree.fromstring(drawn, etree.XMLParser(remove_comments=True, remove_blank_text=True))
    for useless in (*root.iter(f"{_SVG}metadata"), *root.iter(f"{_SVG}style")):
        useless.getparent().remove(useless)
    _make_ids_unique(root, name)
    for element in root.iter(etree.Element):
        style = element.get("style")
        if style is not None:
            style = _FONTS.sub(_WIDE_FONTS, style)
            element.set("style", _HEX.sub(_themed, style) if themed else style)
        for key in ("d", "points", "transform"):
            value = element.get(key)
            if value is not None:
                element.set(key, _DECIMALS.sub(_short, value))
    width_px = float(root.get("width", "").removesuffix("pt")) * 4 / 3 * scale
    for key in ("width", "height", "version"):
        if key in root.attrib:
            del root.attrib[key]
    _add_title(root, name, title)
    root.set("style", f"--width: {width_px:.0f}px")
    if themed:
        root.set("fill", "currentColor")
    return etree.tostring(root, encoding="unicode")


def _make_ids_unique(root: _Element, name: str) -> None:
    """Prefix ids that are referred to with ``name``, and remove all other ids."""
    values = [value for element in root.iter() for value in _attributes(element).values()]
    links = {match for value in values for match in _LINKS.findall(value)}
    links |= {element.get(_HREF, "").removeprefix("#") for element in root.iter()}
    for element in root.iter():
        identifier = element.get("id")
        if identifier is not None:
            del element.attrib["id"]
            if identifier in links:
                element.set("id", f"{name}-{identifier}")
        for key, value in _attributes(element).items():
            if key == _HREF and value.startswith("#"):
                element.set(key, f"#{name}-{value[1:]}")
            elif "url(#" in value:
                element.set(key, _LINKS.sub(rf"url(#{name}-\1)", value))


def _attributes(element: _Element) -> dict[str, str]:
    return {str(key): str(value) for key, value in element.attrib.items()}


def _add_title(root: _Element, name: str, title: str) -> None:
    # Imported here because it is slow to import.
    from lxml import etree

    element = etree.Element(f"{_SVG}title", id=f"{name}-title")
    element.text = title
    root.insert(0, element)
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title")


def _themed(match: re.Match[str]) -> str:
    color = match[0]
    if color == BLACK:
        return "currentColor"
    red, green, blue = (color[i : i + 2] for i in (1, 3, 5))
    if red == green == blue and color != WHITE:
        name = next(name for least, name in _GREYS if int(red, 16) >= least)
        return f"var({name}, {color})"
    return f"var(--c-{color[1:]}, {color})"


def _short(match: re.Match[str]) -> str:
    """Round a coordinate to a hundredth of a point."""
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")
