"""What kernels share: C, and what references of theirs have in common with it."""
