"""Block models by name, as ``--model`` gives them."""

from __future__ import annotations

import os
from collections.abc import Sequence

from platforms.errors import UserError, nearest
from predictor.blocks.model import BlockModel
from predictor.blocks.published.formulas import POWER_LAWS
from predictor.blocks.published.parameters import CLUSTERS
from predictor.blocks.published.table_model import published


def block_model(
    name: str, *, power_law: str | None = None, family: str | None = None, besides: Sequence[str] = ()
) -> BlockModel:
    """A published model, or that of a calibration file.

    ``power_law``: of a published model, one of formulas.POWER_LAWS (None: the first); ``family``: of a calibration, one
    of calibrated.FAMILIES (None: the first).  ``besides``: names that the caller takes himself.  Raises UserError
    for a name that is neither a model nor a file, and for an option that does not go with it.
    """
    if name in CLUSTERS:
        if family is not None:
            raise UserError(f"--shapes {family}", f"model {name} is published", "Drop it: it is for a calibration file")
        return published(name, power_law=POWER_LAWS[0] if power_law is None else power_law)
    if not os.path.isfile(name) and "/" not in name and not name.endswith(".json"):
        remedy = f"{nearest(name, [*besides, *CLUSTERS])}, or a calibration file"
        raise UserError(f"model {name!r}", "no such model", remedy)
    from predictor.blocks.calibration.calibrate import read_calibration
    from predictor.blocks.calibration.calibrated import FAMILIES, Calibrated

    if power_law is not None:
        raise UserError(f"--power-law {power_law}", "goes with a published model", "Drop it")
    return Calibrated(read_calibration(name), FAMILIES[0] if family is None else family)
