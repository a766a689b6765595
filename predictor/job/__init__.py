"""Plan a batch job: predicted times of its steps, the time and the nodes to request.

Public faces: ``plan.Plan``, ``cli.COMMAND``.
"""
