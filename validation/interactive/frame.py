"""A table of results for scripts and notebooks, which carries the cautions about it."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd


class Frame(pd.DataFrame):
    """Results with their cautions.  A selection of rows or columns is an ordinary DataFrame."""

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return pd.DataFrame

    @property
    def cautions(self) -> list[str]:
        """The cautions about the runs, each a sentence."""
        lines: list[str] = self.attrs.get("cautions", [])
        return lines
