"""Series: all combinations of some parameters, answered in a pool and kept, with their Pareto front and figures.

Public faces: ``grid.varied``, ``grid.combinations``, ``pool.answers``, ``front.pareto_front``,
``curves.curves_figure``, ``bars.bars_figure``, ``grid.counts``.
"""
