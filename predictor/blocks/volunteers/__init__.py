"""Work units on volunteers' computers that join and leave: the time until the last unit is done.

Public faces: ``cli``, ``project``, ``handing_out``.
"""
