"""The experiment of the Li paper in simulation: one message in each send mode of MPI.

Public faces: ``fit``, ``messages``, ``messages``, ``cli.main``.
"""
