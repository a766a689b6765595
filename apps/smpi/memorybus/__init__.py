"""The bus between a node's cores and its memory, for runs with --memory-bus (docs/kernels/index.md)."""
