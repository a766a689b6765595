"""Compare predictions with the truth, and sum up the errors.

Public faces: ``compare.compare``, ``truth.read_measured``, ``metrics.summarise``,
``metrics.summary_rows``, ``rows.grouped``, ``rows.rows_by``.
"""
