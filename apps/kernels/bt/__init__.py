"""BT, block tridiagonal systems: its C sources and its declarations."""
