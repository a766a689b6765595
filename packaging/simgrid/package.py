"""SimGrid with SMPI: programs in ``bin``, libraries in ``lib``, headers in ``include``; licence: NOTICE, ``source``.

The Python module ``simgrid`` lies beside this package.
"""
