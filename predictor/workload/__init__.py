"""Several programs on one platform: their schedule, and their times on links that they share.

Public faces: ``joined.together``, ``policies.Policy``, ``schedule.scheduled``, ``file.read_workload``,
``logs.read_log``.
"""
