"""Cloud instances as presets from measured messages, and ``gridval plan instance``: which one for a program.

Public faces: ``command.presets``, ``command.Preset``, ``command.COMMAND``.
"""
