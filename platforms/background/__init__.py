"""Background load of shared grids: distributions of what it leaves to a program, draws from them, and their platforms.

Public faces: ``statement.asked_background``, ``draws.drawn``, ``draws.Draw``, ``loaded.loaded_platform``,
``loaded.loaded_grid``.
"""
