"""Programs at any number of ranks, learned from recordings at a few: ``learn``, ``generate`` and predictor ``learned``.

Public faces: ``predictor`` (the predictors), ``learn`` (recordings to a structure), ``generate`` (a structure to a
recording on P ranks), ``errors``.
"""
