"""The few functions of SimGrid that the kernels call, in C for a real MPI library."""
