"""Counts of what programs do on q cores of each of p nodes: operations, bytes and messages, in place of the table's.

Public faces: ``speeds.Speeds``, ``declared.counted``, ``declared.counted_names``, ``planned.Plan``,
``planned.kernel_problem``, ``steps.traffic_path``, ``recorded.recorded_path``.
"""
