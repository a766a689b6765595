"""MG, multigrid: its C sources and its declarations."""
