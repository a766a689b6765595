"""Comparison of predicted distributions of run times on shared grids with simulated runs under drawn loads.

Public faces: ``judge.judged``, ``judge.Judged``, ``cli.main``.
"""
