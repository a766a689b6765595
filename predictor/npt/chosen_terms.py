"""Terms of a program's time that nobody has derived: declared by name, or chosen by cross-validation.

Table V of Ichikawa, Takahashi and Kawai derives the terms of four programs from what they do.  Of any other program
they are chosen among a small family: the term of work that single PEs show, and then, one by one, the term that most
lowers the error of runs which the models have not seen: of each size but the smallest, and of the largest numbers of
processes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from platforms.errors import UserError
from platforms.terminal.quantities import significant
from predictor.npt.measurements import Measurements
from predictor.npt.terms import REFERENCE, SIZES, TERMS, Equations, Term, columns, terms

WORK = ("N/P", "N log N/P", "N^(4/3)/P", "N^2/P", "N^3/P")
OTHERS = (
    *("1", "log P", "P", "1/P", "N", "N^2", "N/P", "N^2/P", "N/P^(1/2)", "N^2/P^(1/2)", "N^2/P^(2/3)"),
    *("log P N", "log P N^2", "P N"),
)
_MOST_TERMS = 5
_LEAST_GAIN = 0.05  # by which another term lowers the error, relative
_EXACT = 1e-4  # error below which no term is added
_NOTHING = 10.0  # error of a run for which nothing positive is predicted


@dataclass(frozen=True)
class ChosenTerms:
    """Equations, and where they are from."""

    equations: Equations
    why: str  # a sentence for the answer


def declared_equations(names: Sequence[str]) -> Equations:
    """Return the equations of an NP-T model with these terms; that of a single PE has their functions of N.

    Raises:
        UserError: A name is not known, or is the reference time of P-T models.

    >>> [str(term) for term in declared_equations(["N^3/P", "N^2/P^(1/2)", "log P"]).nt]
    ['N^3', 'N^2', '1']
    """
    form = terms(*names)
    if any(term.size == REFERENCE for term in form):
        raise UserError(
            f"terms {', '.join(names)}", f"{REFERENCE} is a time", f"Give functions of N: {', '.join(SIZES)}"
        )
    of_size = dict.fromkeys(Term(term.size, "1") for term in form)
    return Equations(nt=tuple(dict.fromkeys((*of_size, Term("1", "1")))), pt=terms("T/P", "1", "log P"), npt=form)


def declared_terms(names: Sequence[str]) -> ChosenTerms:
    """Return equations of declared terms.

    Raises:
        UserError: A name is not known.
    """
    return ChosenTerms(declared_equations(names), f"terms {', '.join(names)}, as declared")


def chosen_terms(measurements: Measurements) -> ChosenTerms:
    """Choose terms for these runs, which are on single sub-clusters, by fits with NNLS and relative weights.

    Raises:
        UserError: The runs suffice for no term: they need two sizes or more.
    """
    folds = [fold for group in _groups(measurements, alone=False) for fold in _folds(measurements, group)]
    names = tuple(dict.fromkeys((*WORK, *OTHERS)))
    # Divided by the times: relative errors.
    design = columns(terms(*names), measurements.size, measurements.total) / measurements.time_s[:, None]

    def error(chosen: tuple[str, ...]) -> float:
        design_of = design[:, [names.index(name) for name in chosen]]
        return float(np.mean(np.concatenate([_errors(design_of, *fold) for fold in folds])))

    if not folds:
        problem = "the runs suffice for no term of its time"
        raise UserError("terms", problem, "Measure three sizes or more on two nodes or more, or give --terms")
    pairs: list[tuple[str, ...]] = [(work, other) for work in _works(measurements) for other in OTHERS if other != work]
    best, found = min((error(pair), pair) for pair in pairs)
    while len(found) < _MOST_TERMS and best > _EXACT:
        least, longer = min((error((*found, other)), (*found, other)) for other in OTHERS if other not in found)
        if not least < (1 - _LEAST_GAIN) * best:
            break
        best, found = least, longer
    off = significant(100 * best)
    return ChosenTerms(
        declared_equations(found),
        f"terms {', '.join(found)}, chosen by cross-validation: runs that were left out are met within {off} % (mean)",
    )


_Fold: TypeAlias = tuple[np.ndarray, np.ndarray]  # rows that are fitted, and rows that are left out


def _works(measurements: Measurements) -> tuple[str, ...]:
    """Return the term of work that single PEs show, whose runs have no communication over the network; else all.

    Beside communication, the work of small sizes would look like a lower power of N than it is.
    """
    folds = [fold for group in _groups(measurements, alone=True) for fold in _folds(measurements, group)]
    if not folds:
        return WORK

    def error(work: str) -> float:
        form = (Term(TERMS[work].size, "1"), Term("1", "1"))
        design = columns(form, measurements.size, measurements.total) / measurements.time_s[:, None]
        return float(np.mean(np.concatenate([_errors(design, *fold) for fold in folds])))

    return (min(WORK, key=error),)


def _groups(measurements: Measurements, *, alone: bool) -> Iterator[np.ndarray]:
    """Yield the rows of each sub-cluster and M_i which share one model: with P > M_i, or ``alone``, of a single PE."""
    own = np.take_along_axis(measurements.processes, np.maximum(measurements.sub_cluster, 0)[:, None], axis=1)[:, 0]
    used = (measurements.sub_cluster >= 0) & ((measurements.total > own) != alone)
    for i, processes in sorted(set(zip(measurements.sub_cluster[used], own[used], strict=True))):
        yield np.flatnonzero(used & (measurements.sub_cluster == i) & (own == processes))


def _folds(measurements: Measurements, rows: np.ndarray) -> Iterator[_Fold]:
    """Yield what is left out in turn: each size but the two smallest, and the two largest P, of three or more."""
    for values, least in ((measurements.size[rows], 2), (measurements.total[rows], -2)):
        different = np.unique(values)
        for value in different[least:] if len(different) > 2 else ():
            yield rows[values != value], rows[values == value]


def _errors(design: np.ndarray, kept: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """Return abs(log(predicted / measured)) of the rows that are left out; 10 where nothing positive is predicted."""
    # Imported here for a quick start: it is slow to import.
    from scipy.optimize import nnls

    scale = np.maximum(np.linalg.norm(design[kept], axis=0), np.finfo(float).tiny)
    coefficients, _ = nnls(design[kept] / scale, np.ones(len(kept)))
    shares = (design[left_out] / scale) @ coefficients
    return np.where(shares > 0, np.abs(np.log(np.maximum(shares, np.exp(-_NOTHING)))), _NOTHING)
