"""Comparison of times and energies at chosen frequencies, predicted and simulated.

Public faces: ``compare.choices``, ``cli.main``.
"""
