"""A process that answers the commands of one user, so that they need not import the project again.

Public faces: ``client.answered``.
"""
