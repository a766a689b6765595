"""FEM: what its verification compares with."""
