"""Code that several kernels share, in C and in their Python references."""
