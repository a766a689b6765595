"""Comparison of the reliability formulas with runs on failing nodes, drawn with numpy and simulated in SimGrid.

Public faces: ``study``, ``study.mean_check``, ``study.first_failures``, ``study``, ``cli.main``.
"""
