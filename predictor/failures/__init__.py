"""Failures of nodes: probability of success, expected times with restarts and checkpoints, the best node count.

Public faces: ``expected.restart_from_scratch``, ``expected.with_checkpoints``, ``expected.young``, ``cli.main``.
"""
