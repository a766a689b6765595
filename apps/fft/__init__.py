"""The one-dimensional FFT (fft1d.c), and what its results are compared with."""
