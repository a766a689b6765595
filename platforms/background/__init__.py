"""Background load of shared grids: distributions of the capacity left to a program, draws, and their platforms.

Public faces: ``statement.asked_background``, ``draws.drawn``, ``draws.Draw``, ``loaded.loaded_platform``,
``loaded.loaded_grid``.
"""
