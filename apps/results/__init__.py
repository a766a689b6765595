"""Results of one run: its record, its energy, and the extrapolation over its iterations.

Public faces: ``record.RunRecord``, ``energy.counted``, ``steady.settle``, ``steady.extrapolate``.
"""
