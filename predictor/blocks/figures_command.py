"""The command ``gridval blocks figures``: figures like Figures 3 to 5 of the paper, of a published model."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from pathlib import Path

from platforms.command.command import Command, Reply
from platforms.command.request import Request, option
from platforms.errors import UserError, nearest
from predictor.blocks.published.parameters import CLUSTERS


@dataclass(frozen=True, kw_only=True)
class BlocksFiguresRequest(Request):
    """A published model to draw."""

    model: str = option("galera+", "NAME", f"{', '.join(CLUSTERS)} (default: galera+)")
    plot: str = option(MISSING, "DIR", "folder of the figures; made if it is absent")


def answer(request: BlocksFiguresRequest) -> Reply:
    """Write the figures, and return their names.

    Raises:
        UserError: The model is not a published one, or a file cannot be written.
    """
    if request.model not in CLUSTERS:
        raise UserError(f"--model {request.model}", "no published model", nearest(request.model, CLUSTERS))
    # Imported here for a quick start: it is slow to import.
    from predictor.blocks.published.figures import write_published_figures

    files = list(write_published_figures(request.model, Path(request.plot), "--plot"))
    return Reply(files, lambda: "\n".join(map(str, files)), lambda: [str(file) for file in files])


COMMAND = Command(
    "blocks figures",
    BlocksFiguresRequest,
    answer,
    "Draw the formulas of a published model as in Figures 3 to 5 of the paper, and those of scatter, "
    "gather, all-to-all and the disk (docs/predictors/blocks.md). For a calibration, calibrate --plot draws them "
    "with the measured points.",
)
main = COMMAND.main
