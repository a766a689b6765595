"""Runs on a real machine, predicted by simulating them on the machine's platform.

Public face: ``predictor.SIMULATE``.
"""
