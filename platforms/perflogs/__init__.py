"""Tables of measured runs from files of other tools: ReFrame, Caliper (and Benchpark's results), Extra-P.

A file is known by its content.  A table has the columns app, ranks, nodes and time_s as far as the file says them, and
whatever else distinguishes runs: the table's readers choose by name.

Public faces: ``tables.table_of``, ``extrap_files.experiment_text``.
"""
