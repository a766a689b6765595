"""Li's models of MPI's send modes and of components, and the tables of his paper.

Public faces: ``send_model``, ``components``, ``tables``.
"""
