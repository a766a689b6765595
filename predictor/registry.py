"""The predictors by name."""

from __future__ import annotations

from collections.abc import Container, Iterable
from pkgutil import resolve_name

from platforms.errors import UserError, known_names, matching
from predictor.base import Predictor
from predictor.families import FAMILIES, RENAMED, VARIANTS, family_of
from predictor.plugins import FORM, check_free, installed, installed_predictor, is_own, own_predictor

# Location of each predictor that ``all`` includes.
PREDICTORS = {name: variant.place for name, variant in VARIANTS.items() if variant.in_all}
ALL = "all"  # stands for every predictor
# Know the simulator's constants: they check an implementation, and predict nothing.
SELF_CHECKS = ("dpgraph:known", "learned:known")
HCF_FAMILY = ("hcf:printed", "hcf", "hcf:constant")  # share one probe


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
    known = matching(name, VARIANTS)
    if known is not None:
        made: Predictor = resolve_name(VARIANTS[known].place)
        return made
    if is_own(name) and family_of(name).lower() not in FAMILIES:
        made = own_predictor(name)
        check_free(made, (*VARIANTS, ALL))
        return made
    others = _installed()
    known = matching(name, others)
    if known is None:
        renamed = RENAMED.get(name.lower())
        if renamed is not None:
            raise UserError(f"predictor {name!r}", f"is called {renamed} now", "Write that")
        raise _unknown(name, (*PREDICTORS, *others))
    return installed_predictor(known, others[known])


def predictors(names: Iterable[str]) -> list[Predictor]:
    """Return the predictors with these names, each once; ``all`` includes those of installed packages.

    Raises:
        UserError: A name is not known, or two different predictors have the same name.
    """
    wanted = (wanted_name for name in names for wanted_name in (_everyone() if name.lower() == ALL else (name,)))
    made: dict[str, Predictor] = {}
    for candidate in (predictor(name) for name in dict.fromkeys(wanted)):
        if made.get(candidate.name, candidate) is not candidate:
            check_free(candidate, made)
        made[candidate.name] = candidate
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
