"""Small C programs that time a network, disks and nodes.

Public faces: ``network.measure.measure``, ``plan.carry_out``.
"""
