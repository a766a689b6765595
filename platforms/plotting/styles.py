"""Colours, markers and axes that figures share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axis import Axis

# Colours of Okabe and Ito, which colour-blind readers can distinguish; line styles and markers differ in grey print.
STYLES = (
    ("#D55E00", "s", "--"),
    ("#0072B2", "o", "-."),
    ("#009E73", "^", ":"),
    ("#CC79A7", "D", (0, (5, 1))),
    ("#E69F00", "v", (0, (3, 1, 1, 1))),
    ("#56B4E9", "P", (0, (1, 1))),
    ("#F0E442", "X", (0, (5, 1, 1, 1))),
)
RED, BLUE, GREEN, PINK, ORANGE, SKY, YELLOW = (color for color, _, _ in STYLES)
INK, SOFT = "#1a1a1a", "#666666"  # of boxes and texts, and of lines that only guide the eye
_MORE_MARKERS = ("<", ">", "p", "h", "*", "d", "8")  # when the colours repeat


def plain(value: float) -> str:
    """Return a number without a useless plus sign or zeros in its exponent.

    >>> [plain(one) for one in (1000, 1e6, 2.5e-7, 123456.0, 0.25)]
    ['1000', '1e6', '2.5e-7', '123456', '0.25']
    """
    text = f"{value:g}" if float(f"{value:g}") == value else f"{value:.12g}"
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if e else mantissa


def style_of(number: int) -> tuple[str, str, str | tuple[Any, ...]]:
    """Return colour, marker and line style of line ``number``, from 0; the first fourteen differ in grey too."""
    color, marker, line = STYLES[number % len(STYLES)]
    again = number // len(STYLES)
    return color, marker if again == 0 else _MORE_MARKERS[(number + again - 1) % len(_MORE_MARKERS)], line


def line(color: str, dash: str | tuple[Any, ...] = "-", width: float = 1.4) -> dict[str, Any]:
    """Return the look of a line without markers."""
    return {"color": color, "linestyle": dash, "linewidth": width}


def dots(
    color: str, marker: str = "o", size: float = 5.0, *, hollow: bool = False, edge: bool = False
) -> dict[str, Any]:
    """Return the look of markers without a line; ``edge`` gives them a thin black one."""
    look: dict[str, Any] = {"color": color, "marker": marker, "markersize": size, "linestyle": "none"}
    if hollow:
        look |= {"markerfacecolor": "none", "markeredgewidth": 0.9}
    return look | {"markeredgecolor": "black", "markeredgewidth": 0.6} if edge else look


def _tick(value: float) -> str:
    mantissa, _, exponent = f"{value:e}".partition("e")
    return plain(value) if value < 1e5 else f"{float(mantissa):g}e{int(exponent)}"


def label_decades(axis: Axis) -> None:
    """Label a logarithmic axis, whose limits are set, with plain numbers; fewer decades get more labels each."""
    # Imported here because it is slow to import.
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    subs = (1, 1.5, 2, 3, 4, 5, 6, 8) if high < 6 * low else (1, 2, 5) if high < 1e3 * low else (1,)
    axis.set_major_locator(LogLocator(subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    axis.set_minor_formatter(NullFormatter())
