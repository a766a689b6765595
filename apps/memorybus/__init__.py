"""The bus between the cores of a node and its memory, for runs with --memory-bus (docs/kernels/memory-bus.md)."""
