"""Series of evaluations: an application over a grid of counts, variables, systems, models and power rules.

Public faces: ``points.points_of``, ``evaluations.evaluations``, ``evaluations.rows_of``, ``command.run_series``,
``command.write_series``.
"""
