"""Memory bandwidth of this computer and of a machine's nodes, measured by STREAM's triad on one core to all.

Public faces: ``measure.triads``, ``measure.memory_of_this_computer``, ``on_machine.memory_of_machine``.
"""
