"""IS, the integer sort: its C sources and its declarations."""
