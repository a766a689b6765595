"""Badges: a predictor and its median error as a small SVG picture."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from html import escape
from statistics import median

from platforms.errors import printable
from platforms.terminal.quantities import percent
from validation.report.errors import error_class

_WORST = 40  # characters of the longest name on a badge
_CHARACTER_PX, _MARGIN_PX = 7, 6
_COLOURS = {"good": "#0b6b3a", "fair": "#7a4b00", "": "#a3161b"}


def median_errors(errors: Iterable[tuple[str, float]]) -> dict[str, tuple[float, int]]:
    """Return the median error without sign, %, and the number of predictions, by predictor in their first order."""
    by_predictor: dict[str, list[float]] = {}
    for predictor, error_pct in errors:
        by_predictor.setdefault(predictor, []).append(abs(error_pct))
    return {name: (median(some), len(some)) for name, some in by_predictor.items()}


def badge(predictor: str, error_pct: float, count: int) -> str:
    """Return the badge of a predictor: its name and its median error."""
    name = text_of(predictor)
    label = name if len(name) <= _WORST else f"{name[: _WORST - 1]}\N{HORIZONTAL ELLIPSIS}"
    value = f"{percent(error_pct, signed=False)} %"
    left, right = (len(text) * _CHARACTER_PX + 2 * _MARGIN_PX for text in (label, value))
    title = escape(f"{name}: median error {value}, {count} predictions")
    texts = "".join(
        f'<text x="{at + _MARGIN_PX}" y="14" textLength="{width - 2 * _MARGIN_PX}">{escape(text)}</text>'
        for text, at, width in ((label, 0, left), (value, left, right))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{title}">'
        f'<title>{title}</title><rect width="{left}" height="20" fill="#333a42"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{_COLOURS[error_class(error_pct)]}"/>'
        f'<g fill="#ffffff" font-family="DejaVu Sans,Verdana,sans-serif" font-size="11">{texts}</g></svg>'
    )


def file_names(predictors: Iterable[str]) -> Mapping[str, str]:
    """Return a file name for the badge of each predictor, of letters, digits and hyphens."""
    made: dict[str, str] = {}
    for name in sorted(predictors):
        word = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:_WORST]
        if not word or word in made.values():
            word = f"{word or 'predictor'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        made[name] = word
    return {name: f"{word}.svg" for name, word in made.items()}


def text_of(text: str) -> str:
    """Return the text without characters that XML does not allow."""
    return printable(text)
