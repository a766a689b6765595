"""HTML report of a validation: targets, errors and costs of the predictions, and commands to repeat the runs.

Public faces: ``option.ReportOption``, ``option.reporter_from_request``, ``page.page``, ``gather.Gathered``.
"""
