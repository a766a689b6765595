"""FEM: its C sources, and the reference for its verification."""
