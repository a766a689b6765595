"""Compare predictions with the truth, and sum up the errors.

Public faces: ``compare.validate``, ``compare.runs``, ``truth.read_measured``, ``metrics.summarise``,
``dataframes.grouped``, ``machine_times.without_machine_times``.
"""
