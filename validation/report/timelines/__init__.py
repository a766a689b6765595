"""The sections of the page that are drawn over time: an iteration of every program, and graphs of graph predictors.

Public faces: ``timelines.sections`` and ``graphs.sections``, which validation/report/page.py asks for.
"""
