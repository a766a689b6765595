"""N-T, P-T and NP-T models, and the search over them for the nodes to use and the number of processes on each.

S. Ichikawa, S. Takahashi and Y. Kawai, "Optimizing process allocation of parallel programs for heterogeneous clusters".
The paper's letters: N is the size of the problem; G_i is a sub-cluster of equal processing elements (PEs, here nodes);
P_i PEs of G_i are in use with M_i processes on each; P = sum P_i M_i; T_i is the time of G_i, and T = max_i T_i.

Public faces: ``predictor.NPT``, ``predictor.NT``, ``measurements.Measurements``, ``fitting.fit_models``,
``models.NptModels``, ``smaller``.
"""
