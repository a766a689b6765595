"""Unequal shares of the data, simulated: equal ones, the advised ones, and the best of a search.

Public faces: ``cli.main``, ``search.searched``, ``search.Searched``.
"""
