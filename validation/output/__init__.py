"""Write the results of a command: tables, CSV files, figures, and the exit status that errors call for.

Public faces: ``output.Output``, ``fail_above.too_wrong``.
"""
