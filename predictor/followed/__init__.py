"""Options of SimGrid that predictors follow, refuse, or do not follow: an add-on.

The table ``options.csv`` has every option of SimGrid 3.32 and 4.1.  Public faces: ``effects.with_options``.
"""
