"""Programs of blocks as MPI programs: each process a rank, its instructions in a file."""
