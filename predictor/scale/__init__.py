"""Scaling of a program: its predicted time, speed-up, efficiency and bottleneck by the number of ranks.

Public faces: ``curve.rows_of``, ``bottleneck.bottleneck``, ``request.ScaleRequest``, ``cli.main``.
"""
