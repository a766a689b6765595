"""Predict measured runs of a real cluster from a few of them: ``gridval series measured RUNS.csv``.

Public faces: ``runs.read_runs``, ``judge.judged``, ``cli.main``.
"""
