"""The verb ``graph``: a program's graph, its critical path, what speeds it up; and Li's method on fewer nodes.

Public faces: ``graph``, ``on_platform``, ``what_if``, ``faster``, ``li_predictor``.
"""
