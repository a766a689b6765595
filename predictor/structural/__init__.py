"""Run times from the structure of a program: the computations and messages of every rank, on a measured network.

Public faces: ``predictor.STRUCTURAL``, ``recurrence``, ``schedule.flattened``, ``collectives.exchanges``.
"""
