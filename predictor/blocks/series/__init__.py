"""Series of evaluations: an application over a grid of counts, variables, systems, models and power rules.

Public faces: ``points.points_of``, ``evaluations.evaluations``, ``table.table_of_points``, ``output.write_series``.
"""
