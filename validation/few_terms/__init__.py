"""Predict measured runs of any program from small ones: ``gridval series measured RUNS.csv --terms``.

Public faces: ``judge.read_table``, ``judge.judged``, ``cli.main``.
"""
