"""Predict measured runs of a real cluster from a few of them: ``python -m validation.measured RUNS.csv``.

Public faces: ``runs.read_runs``, ``judge.judged``, ``cli.main``.
"""
