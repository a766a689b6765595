"""FEM: its C sources, its declarations, and the reference for its verification."""
