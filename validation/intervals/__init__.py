"""Intervals of predictions against the truth: how often they hold it, how wide they are, and the cases behind them.

Public faces: ``cases_file.cases_text``, ``cli.main``.
"""
