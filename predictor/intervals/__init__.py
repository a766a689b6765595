"""Intervals of predictions: which true times 90 % of predictions like this one leave, from known errors.

Public faces: ``interval.with_interval``, ``cases.features_of``, ``cases.CalibrationCase``, ``cases.read_cases``,
``calibration.Calibration``.
"""
