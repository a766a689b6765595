"""Table 1's parameters fitted to measured samples, from a file or of a real machine."""
