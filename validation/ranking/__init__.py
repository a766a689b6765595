"""Rank predictors: by error and cost, by the Pareto front, and by the choices that they lead to.

Everything here is made of the table of results that a validation yields (columns of
validation.comparison.compare.Result).

Public faces: ``standing.ranking``, ``standing.pareto``, ``deciding.decisions``, ``output.EvidenceCosts``,
``output.league_tables``.
"""
