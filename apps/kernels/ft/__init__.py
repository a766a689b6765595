"""FT, three-dimensional FFTs: its C sources and its declarations."""
