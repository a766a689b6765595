"""Sets of processes, written as progressions, and the pairs that exchange messages.

Public faces: ``progression.Progression``, ``pairs.Pairs``.
"""
