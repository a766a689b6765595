"""Memory bandwidth of this computer, measured by STREAM's triad on one core to all.

Public faces: ``measure.triads``, ``measure.memory_of_this_computer``.
"""
