"""The scalar product: its C source, and what a run with arithmetic is compared with."""
