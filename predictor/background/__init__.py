"""Shared grids: the distribution of a run time under background load, from evidence on the quiet grid.

Public faces: ``forecast.forecast``, ``forecast.Forecast``, ``cli.main``.
"""
