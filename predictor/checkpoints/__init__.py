"""Applications of blocks on hardware that fails: expected time and energy with checkpoints, and the best node count.

Public faces: ``placed.placed``, ``expectation.expectations``, ``cli.main``.
"""
