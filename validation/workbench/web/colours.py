"""Colours of pictures for pages with a dark background."""

from __future__ import annotations

import colorsys
import re

_COLOUR = re.compile(r"#([0-9a-fA-F]{6})\b")
_DARKEST, _LIGHTEST = 0.094, 0.92  # lightness of the paper and of the ink of a dark page, as in style.css


def darkened(svg: str) -> str:
    """Return a picture made for white paper in colours for dark paper: each keeps its hue, and light becomes dark."""
    return _COLOUR.sub(lambda colour: _turned(colour[1]), svg)


def _turned(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    turned = _DARKEST + (1 - lightness) * (_LIGHTEST - _DARKEST)
    if lightness == 1:
        saturation, hue = 0.182, 0.592  # of the paper, #14181d
    channels = colorsys.hls_to_rgb(hue, turned, saturation)
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in channels)
