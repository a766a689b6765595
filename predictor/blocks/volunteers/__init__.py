"""Work units on volunteers' computers that join and leave: the time until the last unit is done.

Public faces: ``command``, ``project``, ``handing_out``.
"""
