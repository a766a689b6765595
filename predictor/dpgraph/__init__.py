"""DP*Graph: programs as graphs of computations and messages, after K.-C. Li.

Public faces: ``predictors.DPGRAPH``, ``predictors.iterations_to_record``, ``program.Sections``,
``network.NetworkModel``, ``evaluate.estimate``, ``known.known_network``.
"""
