"""Looks of curves: their colours, line styles and marks, by classes of the style sheet or by attributes."""

from __future__ import annotations

from dataclasses import dataclass

# Those of results.css in light mode, which files of figures have.
COLORS = ("#c14f00", "#0069a8", "#00795a", "#a8467e", "#8a6100", "#3f6fd1", "#6a6a00")
INK = "#1b1f24"
DASHES = ("", "9 4", "3 3", "12 3 2 3")  # of lines, in turn for each further round of colours
MEASURED_DASH = "5 4"
MOST_STYLES = len(COLORS) * len(DASHES)
_MARKS = (
    "m-4 -4h8v8h-8z", "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z", "m0 -5l5 9h-10z",
    "m0 -5.5l5 5.5l-5 5.5l-5 -5.5z",
    "m0 5l5 -9h-10z", "m-1.7 -5h3.4v3.3h3.3v3.4h-3.3v3.3h-3.4v-3.3h-3.3v-3.4h3.3z", "m-5 0l9 -5v10z",
)  # fmt: skip
MARKERS = ("s", "o", "^", "D", "v", "P", "<")  # the same in files
_TRUE = "o"  # of what is true, larger


@dataclass(frozen=True)
class Style:
    """The look of a curve."""

    color: int | None  # number of a colour and a line style; None: black
    mark: int | None  # number of a mark; None: the round one of what is true
    measured: bool = False  # what is true was measured

    @property
    def hue(self) -> str:
        """The colour in files."""
        return INK if self.color is None else COLORS[self.color % len(COLORS)]

    @property
    def dash(self) -> str:
        """The lengths of dashes and gaps; empty: the line has none."""
        return MEASURED_DASH if self.measured else DASHES[self._round]

    @property
    def hollow(self) -> bool:
        """True if its marks are outlines: those of measured values, and each second round of marks."""
        return self.measured or (self.mark is not None and self.mark // len(_MARKS) % 2 == 1)

    @property
    def width(self) -> float:
        """The width of the line, in pixels."""
        return 4.0 if self.mark is None else 1.8

    @property
    def marker(self) -> str:
        """The mark in files."""
        return _TRUE if self.mark is None else MARKERS[self.mark % len(MARKERS)]

    @property
    def classes(self) -> str:
        """The classes of the style sheet."""
        words = ["black"] if self.color is None else [f"c{self.color % len(COLORS)}"]
        words += [f"d{self._round}"] * bool(self._round) + ["truth"] * (self.mark is None)
        return " ".join([*words, *["measured"] * self.measured, *["hollow"] * self.hollow])

    def mark_path(self, x: float, y: float) -> str:
        """Return the path of a mark: marks differ, so that lines are told apart without colours."""
        if self.mark is None:
            return f"M{x - 6:.1f} {y:.1f}a6 6 0 1 0 12 0a6 6 0 1 0 -12 0z"
        return f"M{x:.1f} {y:.1f}{_MARKS[self.mark % len(_MARKS)]}"

    @property
    def _round(self) -> int:
        return 0 if self.color is None else self.color // len(COLORS) % len(DASHES)
