"""Steady state: simulation of a few iterations, and extrapolation of the rest with a bound on its error.

The simulation of an iterative program is periodic after its first iterations: all ranks advance by the same time per
period of one or two iterations.  Exceptions exist (isolated odd iterations, slow settling), so every run is checked for
a period and none is assumed; a run that does not settle is simulated in full.

Public faces: ``settle.settle``, ``settle.extrapolate``, ``period.find_period``, ``growth.Growth``.
"""
