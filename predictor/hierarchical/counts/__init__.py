"""Counts of what programs do on q cores of each of p nodes: operations, bytes and messages, in place of the table's.

Public faces: ``declared.Speeds``, ``declared.counted``, ``declared.counted_names``, ``declared.Plan``,
``declared.kernel_problem``, ``declared.traffic_path``, ``recorded.recorded_path``.
"""
