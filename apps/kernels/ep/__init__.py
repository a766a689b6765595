"""EP, random pairs: its C source and its declarations."""
