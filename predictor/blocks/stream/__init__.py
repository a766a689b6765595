"""Applications as one stream of instructions for each process, with every expression, condition and label resolved.

Public faces: ``instructions``, ``expand.expand``.
"""
