"""Make one run or many: the table of engines, the pool of simulations, Dask workers, progress.

Public faces: ``engines.ENGINES``, ``engines.run_identity``, ``simulate.simulate``, ``record_events.record_events``,
``runner.Runner``, ``dask_cluster.Cluster``.
"""
