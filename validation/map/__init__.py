"""Validity of predictors: their error as a function of the compute share of the run.

Public faces: ``cli.error_map``, ``thresholds``, ``sweep``, ``cli.main``.
"""
