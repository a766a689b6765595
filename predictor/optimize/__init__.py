"""Choosing nodes and processes: what to measure, what each configuration would take, and the best of them."""
