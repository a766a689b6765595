"""Comparison of times and energies at chosen frequencies, predicted and simulated.

Public faces: ``cli.choices``, ``cli.main``.
"""
