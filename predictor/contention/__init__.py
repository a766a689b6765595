"""Run times from a few measured runs: computation slows down by a node's busy cores, messages follow the structure.

Public faces: ``predictor.Contention``, ``crowding.traffic_of``.
"""
