"""Intervals of predictions against the truth: how often they hold it, how wide they are, and the cases behind them.

The driver of series has no part in it: the command reads rows that other series have kept, and makes no runs.

Public faces: ``cases_file.cases_text``, ``cli.main``.
"""
