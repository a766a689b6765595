"""Gather evidence for predictors, and charge them for it.

Public faces: ``broker.Broker``, ``targets``.
"""
