"""Survey what a platform holds and what its hosts reach.

Public faces: ``survey.survey``, ``connections.connections``, ``quantities``.
"""
