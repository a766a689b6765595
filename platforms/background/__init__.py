"""Background load of shared grids: distributions of the capacity left to a program, draws, and their platforms.

Public faces: ``statement.asked_background``, ``statement.drawn``, ``statement.Draw``, ``site.loaded_platform``,
``site.loaded_grid``.
"""
