"""The predictors by name."""

from __future__ import annotations

from pkgutil import resolve_name

from platforms.errors import UserError
from predictor.base import Predictor

# Where each one is: imported when it is asked for, because not all are quick to import.
PREDICTORS = {
    "hcf-printed": "predictor.hcf:HCF_PRINTED",
    "hcf": "predictor.hcf:HCF",
    "hcf-constant": "predictor.hcf:HCF_CONSTANT",
    "dpgraph-known": "predictor.dpgraph.predictors:DPGRAPH_KNOWN",
    "dpgraph": "predictor.dpgraph.predictors:DPGRAPH",
    "dpgraph-li": "predictor.dpgraph.li_predictor:DPGRAPH_LI",
    "dpgraph-li-duplex": "predictor.dpgraph.li_predictor:DPGRAPH_LI_DUPLEX",
}
ALL = "all"
HCF_FAMILY = ("hcf-printed", "hcf", "hcf-constant")  # one probe serves them


def predictor(name: str) -> Predictor:
    """The predictor of that name; raises UserError with the known ones."""
    if name not in PREDICTORS:
        raise UserError(f"predictor {name!r}", "no such model", f"Known: {', '.join((*PREDICTORS, ALL))}")
    return resolve_name(PREDICTORS[name])


def predictors(names: list[str]) -> list[Predictor]:
    """Those of these names, each once; ``all`` stands for every one.  Raises UserError."""
    wanted = (one for name in names for one in (PREDICTORS if name == ALL else (name,)))
    return [predictor(name) for name in dict.fromkeys(wanted)]
