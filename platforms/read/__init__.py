"""Read a platform file as SimGrid understands it.

Public faces: ``read.read_platform``, ``read.materialise``, ``routes.routes_between``, ``clusters``, ``xml_check``,
``routes.part_hash``.
"""
