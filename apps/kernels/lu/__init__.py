"""LU, SSOR with wavefronts: its C sources and its declarations."""
