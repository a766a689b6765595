"""The predictors by name."""

from __future__ import annotations

from collections.abc import Container, Iterable
from pkgutil import resolve_name

from platforms.errors import UserError, known_names, matching
from predictor.base import Predictor
from predictor.plugins import FORM, check_free, installed, installed_predictor, is_own, own_predictor

# Location of each predictor; it is imported only when asked for, because some are slow to import.
PREDICTORS = {
    "hcf-printed": "predictor.hcf:HCF_PRINTED",
    "hcf": "predictor.hcf:HCF",
    "hcf-constant": "predictor.hcf:HCF_CONSTANT",
    "dpgraph-known": "predictor.dpgraph.predictors:DPGRAPH_KNOWN",
    "dpgraph": "predictor.dpgraph.predictors:DPGRAPH",
    "dpgraph-li": "predictor.dpgraph.li_predictor:DPGRAPH_LI",
    "dpgraph-li-duplex": "predictor.dpgraph.li_predictor:DPGRAPH_LI_DUPLEX",
    "dpgraph-li-size": "predictor.li.predictor:DPGRAPH_LI_SIZE",
    "dpgraph-li-size-duplex": "predictor.li.predictor:DPGRAPH_LI_SIZE_DUPLEX",
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
# These predict runs on real machines alone, and ``all`` does not include them.
OF_MACHINES = {"simulate": "predictor.simulation.predictor:SIMULATE"}
# These predict few programs alone, to compare with a published table, and ``all`` does not include them.
OF_TABLES = {"hierarchical-table": "predictor.hierarchical.predictor:HIERARCHICAL_TABLE"}
NOT_IN_ALL = {**OF_MACHINES, **OF_TABLES}
_NAMED = {**PREDICTORS, **NOT_IN_ALL}
ALL = "all"  # stands for every predictor
SELF_CHECKS = ("dpgraph-known",)  # know the simulator's constants: they check an implementation, and predict nothing
HCF_FAMILY = ("hcf-printed", "hcf", "hcf-constant")  # share one probe


def help_text(*, but: Container[str] = ()) -> str:
    """Return help on the names of predictors for an option, without the names in ``but``."""
    return f"one of {', '.join(name for name in PREDICTORS if name not in but)}, or {FORM} for one of your own"


def predictor(name: str) -> Predictor:
    """Return the predictor with this name, in any case, or at the location ``FILE.py:NAME`` or ``MODULE:NAME``.

    Raises:
        UserError: The name is not known; the error lists the known names.

    >>> predictor("hcf").name
    'hcf'
    """
    known = matching(name, _NAMED)
    if known is not None:
        made: Predictor = resolve_name(_NAMED[known])
        return made
    if is_own(name):
        made = own_predictor(name)
        check_free(made, (*_NAMED, ALL))
        return made
    others = _installed()
    known = matching(name, others)
    if known is None:
        raise _unknown(name, (*PREDICTORS, *others))
    return installed_predictor(known, others[known])


def predictors(names: Iterable[str]) -> list[Predictor]:
    """Return the predictors with these names, each once; ``all`` includes those of installed packages.

    Raises:
        UserError: A name is not known, or two different predictors have the same name.
    """
    wanted = (one for name in names for one in (_everyone() if name.lower() == ALL else (name,)))
    made: dict[str, Predictor] = {}
    for one in (predictor(name) for name in dict.fromkeys(wanted)):
        if made.get(one.name, one) is not one:
            check_free(one, made)
        made[one.name] = one
    return list(made.values())


def _everyone() -> Iterable[str]:
    return (*PREDICTORS, *_installed())


def _installed() -> dict[str, str]:
    """Return the predictors of installed packages; raise UserError where one has the name of another predictor."""
    others = installed()
    for name in (*PREDICTORS, ALL):
        if name in others:
            problem = f"an installed package has a predictor of this name too, {others[name]}, which would be hidden"
            raise UserError(f"predictor {name!r}", problem, "Uninstall it, or give its predictor another name")
    return others


def _unknown(name: str, known: Iterable[str]) -> UserError:
    return UserError(f"predictor {name!r}", "no such model", known_names(name, known, more=f"; or {FORM} for your own"))
