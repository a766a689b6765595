"""DP*Graph: programs as graphs of computations and messages, after K.-C. Li.

Public faces: ``predictors.DPGRAPH``, ``predictors.iterations_to_record``, ``li_predictor``, ``scaling``,
``program.Sections``, ``graph.graph_of``, ``graph.timed_section``, ``network.NetworkModel``, ``evaluate.estimate``,
``known.known_network``.
"""
