"""Cost and emissions of runs, predicted beside simulated: ``gridval run`` with --price and --carbon.

Public faces: ``series.CostedSeries``, ``command.COMMAND``.
"""
