"""Results of earlier commands, used again while all that they rest on is the same.

Public faces: ``keeper.keeping``, ``help.shown``, ``state.files_state``.
"""
