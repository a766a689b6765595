"""Small C programs that time a network, disks and nodes.

Public faces: ``network.measure.measure``, ``carry_out.carry_out``.
"""
