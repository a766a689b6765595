"""Li's method with the size of the problem as an input: a large problem predicted from smaller ones on fewer nodes.

Public faces: ``predictor.DPGRAPH_LI_SIZE``, ``predictor.DPGRAPH_LI_SIZE_DUPLEX``.
"""
