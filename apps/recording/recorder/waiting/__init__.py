"""Recorder files for simulations only: waiting for many requests at once, and the messages in flight."""
