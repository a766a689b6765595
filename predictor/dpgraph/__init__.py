"""DP*Graph: programs as graphs of computations and messages, after K.-C. Li.

Public faces: ``predictors.DPGRAPH``, ``li_predictor.DPGRAPH_LI``, ``graph.graph_of``, ``evaluate.estimate``,
``known.known_network``.
"""
