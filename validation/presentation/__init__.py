"""Show results: tables as text, and figures of predicted against true times.

Public faces: ``tables.results_text``, ``tables.summary_text``, ``plots.write_figures``.
"""
