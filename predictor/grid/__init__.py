"""Find the grid to buy: the one that runs a mix of programs fastest among all that a budget allows.

Public faces: ``request.read_request``, ``search.Search``, ``cli.main``.
"""
