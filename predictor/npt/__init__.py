"""Which nodes to use and how many processes to start on each: N-T, P-T and NP-T models and the search over them.

S. Ichikawa, S. Takahashi and Y. Kawai, "Optimizing process allocation of parallel programs for heterogeneous clusters".
The paper's letters: N size of the problem; G_i sub-cluster of equal processing elements (PEs, here: nodes); P_i PEs of
G_i in use, M_i processes on each; P = sum P_i M_i; T_i time of G_i, T = max_i T_i.
"""
