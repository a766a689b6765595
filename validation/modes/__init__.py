"""The experiment of the Li paper in simulation: one message in each send mode of MPI.

Public faces: ``fit``, ``costs``, ``messages``, ``cli.main``.
"""
