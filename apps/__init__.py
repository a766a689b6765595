"""What runs: the catalog of MPI programs, the engine that simulates them, the records it returns."""
