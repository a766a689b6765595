"""The one-dimensional FFT (fft1d.c), and the reference for its results."""
