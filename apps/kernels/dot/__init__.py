"""The scalar product: its C source, its declarations, and the reference for runs with arithmetic."""
