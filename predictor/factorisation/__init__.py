"""Run times of HPL from its declared structure: panels, broadcasts, row interchanges and updates, message by message.

An add-on of ``structural``, which asks for ``panels`` where a kernel has panels.

Public faces: ``panels``, ``evaluate.evaluate``, ``evaluate.Problem``, ``machine.Machine``, ``machine.Curves``.
"""
