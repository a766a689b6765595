"""Describe a network by times of messages between its hosts.

Public faces: ``survey.next_plan``, ``survey.Survey``, ``fit.NetworkFit``, ``value``, ``lines``, ``segments.pieces``,
``unmeasured``.
"""

from pathlib import Path

NATIVE = Path(__file__).with_name("native")  # C files: max-min fair rates, for libraries of several rooms
