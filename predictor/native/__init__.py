"""The predictors' C code: compiled at first use, kept in the cache folder, called with NumPy arrays.

Public faces: ``library.Library``, ``layout.Layout``.
"""
