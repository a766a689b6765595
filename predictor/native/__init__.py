"""The predictors' code in C: compiled when it is first needed, kept in the cache folder, called with NumPy arrays.

Public faces: ``library.Library``, ``layout.Layout``.
"""
