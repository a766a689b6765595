"""Options of SimGrid that predictors do or do not follow, and what messages of a machine scatter: an add-on.

The table ``options.csv`` has every option of SimGrid 3.32 and 4.1.  Public faces: ``effects.with_options``,
``scatter.with_scatter``.
"""
