"""Show tables, numbers and progress on a terminal.

Public faces: ``table.table_lines``, ``table.Cell``, ``table.Group``, ``prose.prose_lines``, ``prose.folded_lines``,
``prose.numbered_lines``, ``quantities.duration``, ``quantities.percent``, ``quantities.significant``,
``quantities.range_text``, ``prose.table_width``, ``progress.Progress``, ``progress.doing``.
"""
