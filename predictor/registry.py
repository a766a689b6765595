"""The predictors by name."""

from __future__ import annotations

from collections.abc import Iterable
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
    "npt": "predictor.npt.predictor:NPT",
    "npt-ls": "predictor.npt.predictor:NPT_LS",
    "pt": "predictor.npt.predictor:PT",
    "nt": "predictor.npt.nt_predictor:NT",
    "hierarchical": "predictor.hierarchical.predictor:HIERARCHICAL",
    "blocks": "predictor.blocks.predictor:BLOCKS",
    "blocks-simgrid": "predictor.blocks.predictor:BLOCKS_SIMGRID",
    "structural": "predictor.structural.predictor:STRUCTURAL",
    "hcf-nnls": "predictor.regression.hcf_nnls:HCF_NNLS",
    "fit-loglinear": "predictor.regression.fits:FIT_LOGLINEAR",
    "fit-log": "predictor.regression.fits:FIT_LOG",
    "fit-amdahl": "predictor.regression.fits:FIT_AMDAHL",
    "extrap": "predictor.extrap.predictor:EXTRAP",
    "extrap-effort": "predictor.extrap.predictor:EXTRAP_EFFORT",
    "extrap-default": "predictor.extrap.predictor:EXTRAP_DEFAULT",
}
ALL = "all"  # stands for every one
HCF_FAMILY = ("hcf-printed", "hcf", "hcf-constant")  # one probe serves them


def predictor(name: str) -> Predictor:
    """The predictor of that name; raises UserError with the known ones."""
    if name not in PREDICTORS:
        raise _unknown(name, PREDICTORS)
    return resolve_name(PREDICTORS[name])


def predictors(names: list[str]) -> list[Predictor]:
    """Those of these names, each once; ``all`` stands for every one.  Raises UserError."""
    for name in names:
        if name not in (*PREDICTORS, ALL):
            raise _unknown(name, (*PREDICTORS, ALL))
    wanted = (one for name in names for one in (PREDICTORS if name == ALL else (name,)))
    return [predictor(name) for name in dict.fromkeys(wanted)]


def _unknown(name: str, known: Iterable[str]) -> UserError:
    return UserError(f"predictor {name!r}", "no such model", f"Known: {', '.join(known)}")
