"""The families of predictors: each is a method, and its variants differ in how one step of it is done."""

from collections.abc import Mapping
from dataclasses import dataclass

from platforms.addons import is_there


@dataclass(frozen=True)
class Variant:
    """A predictor of a family; its name is that of the family, or ``family:variant``."""

    place: str  # module and name of the predictor; it is imported only when asked for, because some are slow to import
    purpose: str  # what it is, or how it differs from the family, in one line
    in_all: bool = True  # whether the name ``all`` stands for it too
    unequal_shares: bool = False  # whether it knows problems that are divided unevenly, as the predictor itself says


@dataclass(frozen=True)
class Family:
    """A method of prediction."""

    variants: Mapping[str, Variant]  # by name; "": the family's name alone

    def named(self, family: str) -> dict[str, Variant]:
        """Return the predictors by their names."""
        return {f"{family}:{name}" if name else family: variant for name, variant in self.variants.items()}


_DPGRAPH = "predictor.dpgraph.predictors"
_LEARNED = "predictor.learned.predictor"
_LI, _LI_SIZE = "predictor.graph.li_predictor", "predictor.li.predictor"
_NPT = "predictor.npt.predictor"
_HIERARCHICAL = "predictor.hierarchical.predictor"
_BLOCKS = "predictor.blocks.predictor"
_FITS = "predictor.regression.fits"
_EXTRAP = "predictor.extrap.predictor"

# Tables have this order, which begins with the best (docs/predictors/index.md).
FAMILIES: dict[str, Family] = {
    "structural": Family(
        {
            "": Variant(
                "predictor.structural.predictor:STRUCTURAL",
                "declared messages of a kernel on a measured network",
                unequal_shares=True,
            )
        }
    ),
    "dpgraph": Family(
        {
            "": Variant(
                f"{_DPGRAPH}:DPGRAPH", "the recorded messages of any program on a measured network", unequal_shares=True
            ),
            "known": Variant(
                f"{_DPGRAPH}:DPGRAPH_KNOWN",
                "the same on the network that the platform file describes",
                unequal_shares=True,
            ),
            "li": Variant(f"{_LI}:DPGRAPH_LI", "Li et al.: times of sends and of receives, added"),
            "li-duplex": Variant(f"{_LI}:DPGRAPH_LI_DUPLEX", "the same with the longer of the two"),
            "li-size": Variant(f"{_LI_SIZE}:DPGRAPH_LI_SIZE", "as li, from smaller sizes of the problem"),
            "li-size-duplex": Variant(f"{_LI_SIZE}:DPGRAPH_LI_SIZE_DUPLEX", "as li-duplex, from smaller sizes"),
        }
    ),
    "learned": Family(
        {
            "": Variant(
                f"{_LEARNED}:LEARNED", "dpgraph at a number of ranks at which nothing was recorded", in_all=False
            ),
            "known": Variant(
                f"{_LEARNED}:LEARNED_KNOWN", "the same on the network that the platform file describes", in_all=False
            ),
        }
    ),
    "hcf": Family(
        {
            "constant": Variant(
                "predictor.hcf:HCF_CONSTANT", "Fanfakh's HCF without growth of communication", unequal_shares=True
            ),
            "": Variant(
                "predictor.hcf:HCF", "Fanfakh's heterogeneous computing factor, corrected", unequal_shares=True
            ),
            "printed": Variant("predictor.hcf:HCF_PRINTED", "the same as the paper prints it", unequal_shares=True),
            "nnls": Variant("predictor.regression.hcf_terms:HCF_NNLS", "with a communication fitted to smaller runs"),
            "growth": Variant("predictor.regression.hcf_terms:HCF_GROWTH", "with a power from two probes", False),
        }
    ),
    "npt": Family(
        {
            "": Variant(f"{_NPT}:NPT", "Ichikawa et al., eq. (4): time by size and number of nodes"),
            "ls": Variant(f"{_NPT}:NPT_LS", "the same by least squares"),
            "pt": Variant(f"{_NPT}:PT", "eq. (3): time by number of nodes"),
            "pt-printed": Variant(f"{_NPT}:PT_PRINTED", "the same read to the letter", in_all=False),
            "nt": Variant("predictor.npt.predictor:NT", "eq. (2): time by size"),
        }
    ),
    "hierarchical": Family(
        {
            "": Variant(f"{_HIERARCHICAL}:HIERARCHICAL", "Kredel et al., eq. (3): clusters of multi-core nodes"),
            "table": Variant(f"{_HIERARCHICAL}:HIERARCHICAL_TABLE", "the same with counts of the paper", in_all=False),
        }
    ),
    "blocks": Family(
        {
            "": Variant(f"{_BLOCKS}:BLOCKS", "Proficz and Czarnul: costs of building blocks, calibrated"),
            "simgrid": Variant(f"{_BLOCKS}:BLOCKS_SIMGRID", "the same with the shapes of SimGrid's algorithms"),
        }
    ),
    "fit": Family(
        {
            "amdahl": Variant(f"{_FITS}:FIT_AMDAHL", "Amdahl's law, fitted to smaller runs"),
            "loglinear": Variant(f"{_FITS}:FIT_LOGLINEAR", "a power of the number of ranks, fitted to smaller runs"),
            "log": Variant(f"{_FITS}:FIT_LOG", "a line in its logarithm"),
            "neural": Variant("predictor.regression.neural:FIT_NEURAL", "a neural network (scikit-learn)", False),
        }
    ),
    "extrap": Family(
        {
            "": Variant(f"{_EXTRAP}:EXTRAP", "Extra-P with negative exponents"),
            "effort": Variant(f"{_EXTRAP}:EXTRAP_EFFORT", "Extra-P, fitted to nodes times time"),
            "default": Variant(f"{_EXTRAP}:EXTRAP_DEFAULT", "Extra-P with its defaults"),
        }
    ),
    "simulate": Family(
        {"": Variant("predictor.simulation.predictor:SIMULATE", "SMPI on a calibrated real machine", in_all=False)}
    ),
}

VARIANTS: dict[str, Variant] = {
    name: variant
    for family, method in FAMILIES.items()
    for name, variant in method.named(family).items()
    if is_there(variant.place)
}

# What predictors were called before, and are called now.  Kept results may have the names of before.
RENAMED = {
    "hcf-printed": "hcf:printed",
    "hcf-constant": "hcf:constant",
    "hcf-nnls": "hcf:nnls",
    "dpgraph-known": "dpgraph:known",
    "dpgraph-li": "dpgraph:li",
    "dpgraph-li-duplex": "dpgraph:li-duplex",
    "dpgraph-li-size": "dpgraph:li-size",
    "dpgraph-li-size-duplex": "dpgraph:li-size-duplex",
    "npt-ls": "npt:ls",
    "npt-messages": "npt:messages",
    "pt": "npt:pt",
    "pt-printed": "npt:pt-printed",
    "nt": "npt:nt",
    "hierarchical-table": "hierarchical:table",
    "blocks-simgrid": "blocks:simgrid",
    "fit-loglinear": "fit:loglinear",
    "fit-log": "fit:log",
    "fit-amdahl": "fit:amdahl",
    "extrap-effort": "extrap:effort",
    "extrap-default": "extrap:default",
}


def current_name(name: str) -> str:
    """Return what a predictor is called now, for a name in kept results.

    >>> current_name("hcf-constant"), current_name("hcf"), current_name("mine.py:MINE")
    ('hcf:constant', 'hcf', 'mine.py:MINE')
    """
    return RENAMED.get(name, name)


def family_of(name: str) -> str:
    """Return the family of a predictor's name: what stands before a colon."""
    return name.partition(":")[0]


def knowing_shares() -> str:
    """Return the predictors that know unequal shares, for remedies and help."""
    *most, last = (name for name, variant in VARIANTS.items() if variant.unequal_shares)
    return f"{', '.join(most)} or {last}"
