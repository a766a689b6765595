"""Scaling of a program: its predicted time, speed-up, efficiency and bottleneck by the number of ranks.

Public faces: ``counts.counts``, ``curve.rows_of``, ``bottleneck.bottleneck``, ``request.ScaleRequest``, ``cli.main``.
"""
