"""Describe a network by times of messages between its hosts.

Public faces: ``survey.layout``, ``segments.pieces``, ``unmeasured``.
"""
