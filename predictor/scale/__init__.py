"""Scaling of a program: its predicted time, speed-up, efficiency and critical path by the number of ranks.

Public faces: ``curve.rows_of``, ``points.critical_part``, ``request.ScaleRequest``, ``cli.main``.
"""
