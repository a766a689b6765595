"""Several programs in one simulation: jobs that share the platform's links, started and stopped at given dates.

Public faces: ``run.run_together``, ``run.Attempt``, ``run.Ran``, ``run.PlatformEvent``.
"""
