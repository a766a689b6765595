"""Speed-up and efficiency of p nodes of q cores from a few dimensionless numbers, and the best q and p.

H. Kredel, H. G. Kruse and S. Richling, "A hierarchical Model for the Analysis of Efficiency and Speed-up of Multi-Core
Cluster-Computers", 3PGCIC 2015.  The paper's letters: l_c is the speed of a core, b_m the bandwidth of a node's memory,
b_cl the bandwidth between two nodes; #op, #b and #x are the operations, the bytes and the bytes exchanged between
nodes, all of the whole problem; a = #op/#b, a* = l_c/b_m, x = a/a*, r = #b/#x, v = b_cl/b_m.

Some printed equations do not follow from the paper's own definitions.  Both forms are available, as the variants
``printed`` and ``derived`` (docs/predictors/hierarchical.md).

Public faces: ``predictor.HIERARCHICAL``, ``predictor.HIERARCHICAL_TABLE``, ``model``, ``surface.Surface``,
``multicore_cluster.MulticoreCluster``, ``counts`` (see there),
``cli.main``.
"""
