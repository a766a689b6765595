"""Speed-up and efficiency of p nodes of q cores from few dimensionless numbers, and the best q and p.

H. Kredel, H. G. Kruse and S. Richling, "A hierarchical Model for the Analysis of Efficiency and Speed-up of Multi-Core
Cluster-Computers", 3PGCIC 2015.  The paper's letters: l_c speed of a core, b_m bandwidth of a node's memory, b_cl
bandwidth between two nodes; #op operations, #b bytes, #x bytes exchanged between nodes, all of the whole problem;
a = #op/#b, a* = l_c/b_m, x = a/a*, r = #b/#x, v = b_cl/b_m.

What the paper prints and what follows from its own definitions stand side by side: the variants ``printed`` and
``derived`` (docs/predictors/hierarchical.md).
"""
