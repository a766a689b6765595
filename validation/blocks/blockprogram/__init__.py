"""Applications of blocks as an MPI program: each process is a rank that reads its instructions from a file."""
