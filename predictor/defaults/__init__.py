"""Choose the predictors that are asked where the user names none.

Public faces: ``choice.default_predictors``, ``choice.best_answer``, ``choice.Best``, ``choice.PredictorsOf``,
``choice.DEFAULT_TEXT``, ``choice.BEST_TEXT``.
"""
