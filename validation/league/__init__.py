"""The league of predictors: who is how wrong, for how much evidence, and whose choices are how good.

Everything here is made of the table of results that a validation yields (columns of validation.compare.Result); only
``experiment`` runs anything.
"""

from validation.league.deciding import decisions
from validation.league.front import pareto
from validation.league.standing import SIMULATE, ranking

__all__ = ["SIMULATE", "decisions", "pareto", "ranking"]
