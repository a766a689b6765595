"""The command ``gridval series workload``: several jobs on one platform, predicted and simulated together.

Public faces: ``cli.COMMAND``, ``cli.Simulated``, ``cli.compared``.
"""
