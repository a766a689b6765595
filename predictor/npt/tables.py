"""The estimation equations of kernels: ``npt.toml`` in their folders.

Those of four benchmarks are Table V of Ichikawa, Takahashi and Kawai; others are derived by the reasoning of section 5
of the paper.  A file has the terms of each equation (predictor/npt/terms.py): ``nt``, ``pt``, ``npt`` and, of a program
that exchanges everything, ``beside_exchanges``.  For a kernel with classes ``size`` is N as an expression of the
parameters of a class (predictor/blocks/expressions.py).  Classes also differ in their numbers of iterations, for which
there is no term: fit times of equal numbers of iterations, or times of one iteration.  ``instead`` changes the NP-T
equation: for values of a parameter, terms that take the places of others.  ``turns`` says what ranks do one
after another while the others wait; T = max T_i counts all of it at the speed of the slowest node.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from apps.programs.kernel import kernels_with, named_kernel
from apps.programs.problem import Problem
from platforms.errors import UserError
from platforms.files.checked_toml import CheckedTable, read_checked
from predictor.blocks.expressions import Expression
from predictor.npt.terms import Equations, terms

_FILE = "npt.toml"
_FORMS = ("nt", "pt", "npt", "beside_exchanges")
_Instead = Mapping[str, Mapping[str, Mapping[str, str]]]  # by parameter, value and name of a term: the other term


@dataclass(frozen=True)
class _Declared:
    """The content of a file."""

    equations: Equations
    size: Expression | None  # None: the kernel has a free size
    instead: _Instead = field(default_factory=dict)
    turns: str = ""  # what ranks do one after another, as a sentence without its end; empty: nothing that counts


def names_with_equations() -> tuple[str, ...]:
    """Return the names of the kernels whose estimation equations are known."""
    return kernels_with(_FILE)


def equations(app: str, params: Mapping[str, Any] | None = None) -> Equations:
    """Return the estimation equations of a kernel.

    Args:
        app: Name of the kernel.
        params: Parameters of the problem, on which terms may depend; None: as if they had none of these values.

    Raises:
        UserError: There are no equations for the program; the error lists the known programs.
    """
    if app not in names_with_equations():
        remedy = f"Known: {', '.join(names_with_equations())}; for a program of your own, declare the terms"
        raise UserError(f"app {app!r}", "no estimation equations are known for it", remedy)
    declared, other = _declared(app), dict[str, str]()
    for name, value in (params or {}).items():
        other |= declared.instead.get(name, {}).get(str(value), {})
    if not other:
        return declared.equations
    changed = terms(*(other.get(term.name, term.name) for term in declared.equations.npt))
    return replace(declared.equations, npt=changed)


def turns(app: str) -> str:
    """Return what the ranks of a kernel do one after another, as a sentence without its end; empty: nothing."""
    return _declared(app).turns if app in names_with_equations() else ""


def class_size(asked: Problem) -> int:
    """Return N of a problem of a kernel with classes and equations.

    Raises:
        UserError: N has no value.
    """
    size, where = _declared(asked.name).size, f"{asked}, N of {_FILE}"
    if size is None:
        raise UserError(where, "not declared", "Give size")
    params: dict[str, Any] = dict(asked.params)
    size.check_names(params, where)
    return size.whole(params, where)


@cache
def _declared(app: str) -> _Declared:
    kernel = named_kernel(app)
    path = kernel.folder / _FILE
    table = read_checked(path, {"": (*_FORMS, "size", "instead", "turns")}, _FILE)
    if table.has("size") == (kernel.size_parameter is not None):
        raise UserError(str(path), "size goes with classes, and only with them", "Give N of a class, or leave it out")
    nt, pt, npt, beside = (_terms(table, form, path) for form in _FORMS)
    size = Expression.of(table.text("size")) if table.has("size") else None
    return _Declared(Equations(nt, pt, npt, beside), size, _instead(table, path), table.text("turns", ""))


def _terms(table: CheckedTable, form: str, path: Path) -> Any:
    try:
        return terms(*table.list_of(form, [], str, "terms"))
    except UserError as err:
        raise UserError(f"{path}, {err.where}", err.problem, err.remedy) from err


def _instead(table: CheckedTable, path: Path) -> _Instead:
    instead: Any = table.value("instead", {})
    try:
        for values in instead.values():
            for others in values.values():
                terms(*others, *others.values())
    except (AttributeError, TypeError, UserError) as err:
        raise UserError(f"{path}, instead", "not a table of terms by parameter and value", "Correct it") from err
    checked: _Instead = instead
    return checked
