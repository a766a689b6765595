"""The scalar product: its C source, and the reference for runs with arithmetic."""
