"""Run times of any program on more nodes, from a few small runs, by models with few terms.

Public faces: ``model.quantiles``, ``model.Series``, ``model.PRIOR``.
"""
