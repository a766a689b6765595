"""Show tables and progress on a terminal.

Public faces: ``table.table_lines``, ``progress.Progress``.
"""
