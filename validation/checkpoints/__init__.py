"""Comparison of the expected times and energies of checkpointed applications with runs whose nodes fail at drawn dates.

Public faces: ``draws.drawn_parts``, ``cli.main``.
"""
