"""Several programs on one platform: their schedule, and their times on links that they share.

Public faces: ``joined.together``, ``schedule.Policy``, ``schedule.scheduled``, ``file.read_workload``,
``file.read_log``.
"""
