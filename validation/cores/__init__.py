"""Comparison of the hierarchical model with simulations of its own assumptions and of communicating programs.

Public faces: ``communication.Study``, ``world``, ``cli.main``.
"""
