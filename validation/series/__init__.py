"""The one driver of series of runs: cases go in, rows come out, for every command.

A command only describes its cases.  The runner of apps/runs/runner.py keeps what is finished, so that an interrupted
series continues where it stopped, and simulates on this computer or on a Dask cluster.

Public faces: ``series.Case``, ``series.Series``, ``series.carry_out``, ``output.SeriesOutput``.
"""
