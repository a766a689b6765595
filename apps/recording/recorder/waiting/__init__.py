"""Recorder files of simulations alone: waiting for many requests at once, and the messages in flight."""
