"""Comparison of predicted scaling curves with simulated ones.

Public faces: ``cli.main``.
"""
