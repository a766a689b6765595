"""Choose the frequency of the nodes of each cluster, by the predicted time and energy of every choice.

Public faces: ``levels.Levels``, ``search.best``, ``study.study``, ``cli.main``.
"""
