"""CG, conjugate gradients: its C sources and its declarations."""
