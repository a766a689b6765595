"""The command ``gridval series workload``: several jobs on one platform, predicted and simulated together.

Public faces: ``cli.COMMAND``, ``simulated.Simulated``, ``compare.compared``.
"""
