"""Compare the time that evidence takes on this computer with that of simulating the run: an add-on.

Public faces: ``before.warn``, ``after.sentences``.
"""
