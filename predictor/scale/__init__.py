"""How a program scales: its predicted time, speed-up, efficiency and bottleneck by the number of ranks.

Public faces: ``counts.counts``, ``curve.Curve``, ``request.ScaleRequest``, ``cli.main``.
"""
