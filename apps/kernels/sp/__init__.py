"""SP, scalar pentadiagonal systems: its C sources and its declarations."""
