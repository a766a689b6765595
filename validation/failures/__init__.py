"""Comparison of the reliability formulas with runs on failing nodes, drawn with numpy and simulated in SimGrid.

Public faces: ``study``, ``checks.mean_check``, ``draws.first_failures``, ``simulated``, ``cli.main``.
"""
