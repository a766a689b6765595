"""Unequal shares of the data: how much each cluster should have, from a probe.

Public faces: ``cli.main``, ``cli.asked_from_request``, ``advice.advise``, ``advice.Advice``.
"""
