"""The predictors by name."""

from __future__ import annotations

from platforms.errors import UserError
from predictor.base import Predictor
from predictor.dpgraph.li_predictor import DPGRAPH_LI, DPGRAPH_LI_DUPLEX
from predictor.dpgraph.predictors import DPGRAPH, DPGRAPH_KNOWN
from predictor.hcf import HCF, HCF_CONSTANT, HCF_PRINTED

PREDICTORS: dict[str, Predictor] = {
    predictor.name: predictor
    for predictor in (HCF_PRINTED, HCF, HCF_CONSTANT, DPGRAPH_KNOWN, DPGRAPH, DPGRAPH_LI, DPGRAPH_LI_DUPLEX)
}


def predictor(name: str) -> Predictor:
    """The predictor of that name; raises UserError with the known ones."""
    if name not in PREDICTORS:
        raise UserError(f"predictor {name!r}", "no such model", f"Known: {', '.join(PREDICTORS)}")
    return PREDICTORS[name]
