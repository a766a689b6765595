"""Comparison of the predicted time of a program with that before a change, for continuous integration.

Public faces: ``baseline.Case``, ``calls.differences``, ``cli.main``.
"""
