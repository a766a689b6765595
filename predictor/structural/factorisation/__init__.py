"""Run times of HPL from its declared structure: panels, broadcasts, row interchanges and updates, message by message.

Public faces: ``evaluate.evaluate``, ``evaluate.Problem``, ``machine.Machine``, ``machine.Curves``.
"""
