"""Describe a network by times of messages between its hosts.

Public faces: ``survey.next_plan``, ``survey.Survey``, ``fit.NetworkFit``, ``value``, ``lines``, ``segments.pieces``,
``unmeasured``.
"""
