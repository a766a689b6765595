"""Programs in Python on SimGrid's S4U actors: the kernels CG and EP, and programs of the user's own (docs/s4u.md)."""
