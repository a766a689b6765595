"""Cloud instances as presets from measured messages, and ``gridval plan instance``: which one for a program.

Public faces: ``presets.presets``, ``presets.Preset``, ``command.COMMAND``.
"""
