"""Extra-P, an external modelling tool to compare with, run in a Python environment of its own.

A. Calotoiu, T. Hoefler, M. Poke and F. Wolf, "Using automated performance modeling to find scalability bugs in complex
codes", SC13.

Public faces: ``predictor.EXTRAP``, ``process``.
"""
