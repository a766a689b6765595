"""Find the block model that the option ``--model`` names."""

from __future__ import annotations

import os
from collections.abc import Sequence

from platforms.errors import nearest
from predictor.blocks.calibration.calibrate import read_calibration
from predictor.blocks.calibration.calibrated import FAMILIES, Calibrated
from predictor.blocks.errors import SettingError
from predictor.blocks.measured.fitted import read_measured
from predictor.blocks.model import BlockModel
from predictor.blocks.names import POWER_LAWS
from predictor.blocks.published.parameters import CLUSTERS
from predictor.blocks.published.table_model import TableModel, published


def block_model(
    name: str, *, power_law: str | None = None, family: str | None = None, besides: Sequence[str] = ()
) -> BlockModel:
    """Return a published model, or the model of a file of measured blocks or of a calibration.

    Args:
        name: Name of a published model, or path of a calibration file.
        power_law: For a published model, one of formulas.POWER_LAWS; None: the first of them.
        family: For a calibration, one of calibrated.FAMILIES; None: the first of them.
        besides: Further names that the caller accepts, for the error message.

    Raises:
        UserError: If the name is neither a model nor a file, or an option does not go with the model.
    """
    if name in CLUSTERS:
        if family is not None:
            raise SettingError(f"--shapes {family}", f"model {name} is published", "Use it with calibration files only")
        return published(name, power_law=POWER_LAWS[0] if power_law is None else power_law)
    if not os.path.isfile(name) and "/" not in name and not name.endswith(".json"):
        remedy = f"{nearest(name, [*besides, *CLUSTERS])}, or a calibration file"
        raise SettingError(f"model {name!r}", "no such model", remedy)

    if (made := read_measured(name)) is not None:
        if family is not None:
            raise SettingError(f"--shapes {family}", f"model {name} has Table 1's formulas", "Leave it out")
        return TableModel(made.parameters, POWER_LAWS[0] if power_law is None else power_law)
    if power_law is not None:
        raise SettingError(f"--power-law {power_law}", "goes only with a published model", "Leave it out")
    return Calibrated(read_calibration(name), FAMILIES[0] if family is None else family)
