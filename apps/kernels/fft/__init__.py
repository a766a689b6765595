"""The one-dimensional FFT (fft1d.c): its C sources, its declarations, and the reference for its results."""
